// SPDX-License-Identifier: Apache-2.0
// This header interpolates between two neighbouring keys. Results never leave [lower, upper] and never fall as the
// weight rises, also where the difference of the two overflows or is infinite: no key is ever lost to inf - inf (numpy
// #14685, #10373, cupy #4607).
#pragma once

namespace spansort::statistics {

/// `lower` at weight 0, `upper` at weight 1, a straight line between; lower <= upper, neither NaN; weight in [0, 1].
///
/// Where upper - lower is finite these are the bits of NumPy's _lerp (lib/_function_base_impl.py), which counts from
/// the nearer end. Like it, a weight below 0.5 makes +0.0 of -0.0. Elsewhere, where NumPy gives NaN or an infinity:
/// - finite ends too far apart: what the same steps give with a wider exponent;
/// - an end is infinite: what finite ends growing without limit lead to. That is this end for every weight strictly
///   between 0 and 1; between -inf and +inf the nearer end, and 0 at 0.5; equal infinities are that infinity.
[[nodiscard]] double interpolate(double lower, double upper, double weight) noexcept;

/// The arithmetic mean of two keys, rounded once; the same as interpolate() at 0.5 where the difference is not finite.
/// interpolate() at 0.5 may differ from it in the last bits.
[[nodiscard]] double mean_of_two(double lower, double upper) noexcept;

}  // namespace spansort::statistics
