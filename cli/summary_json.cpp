// SPDX-License-Identifier: Apache-2.0
#include "cli/summary_json.hpp"

#include <nlohmann/json.hpp>

#include <cmath>

namespace cli {
namespace {

using json = nlohmann::ordered_json;

json number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

/// Returns a key of which `value` is the nearest double: 64-bit integers in full.
json key_number(const key_summary& summary, std::uint64_t bits, double value) {
  if (std::isfinite(value) && summary.type == spansort::key_type::u64) return bits;
  if (std::isfinite(value) && summary.type == spansort::key_type::i64) return static_cast<std::int64_t>(bits);
  return number(value);
}

template <class Numbers>
json numbers(const Numbers& values) {
  json list = json::array();
  for (const double v : values) list.push_back(number(v));
  return list;
}

template <class Q, class Values>
json quantile_table(const Q& q, const Values& values) {
  return {{"q", q}, {"values", numbers(values)}};
}

void add_box(const key_summary& summary, json& object) {
  const spansort::summary& box = summary.box;
  const median_interval notch = notch_of(box);
  object["label"] = summary.name;
  object["mean"] = number(box.mean);
  object["iqr"] = number(box.iqr);
  object["cilo"] = number(notch.low);
  object["cihi"] = number(notch.high);
  object["whishi"] = number(box.whisker_high);
  object["whislo"] = number(box.whisker_low);
  object["fliers"] = numbers(box.outliers);
  object["q1"] = number(box.lower_quartile);
  object["med"] = number(box.median);
  object["q3"] = number(box.upper_quartile);
}

json histogram_json(const std::optional<picture_data>& picture) {
  if (!picture) return nullptr;
  const bool is_symlog = picture->value_axis.scale == axis_scale::symlog;
  return {{"scale", name(picture->value_axis.scale)},
          {"linear_bound", is_symlog ? number(picture->value_axis.linear_bound) : json(nullptr)},
          {"edges", numbers(picture->edges)},
          {"counts", picture->counts},
          {"num_not_shown", picture->num_not_shown}};
}

}  // namespace

std::string summary_json(const key_summary& summary, const std::optional<picture_data>& picture) {
  const spansort::summary& box = summary.box;
  json object;
  add_box(summary, object);
  object["type"] = spansort::name(summary.type);
  object["method"] = spansort::name(summary.options.method);
  object["nan_policy"] = spansort::name(summary.options.nans);
  object["count"] = box.count;
  object["num_nans"] = box.nan_count;
  object["min"] = key_number(summary, box.minimum_bits, box.minimum);
  object["max"] = key_number(summary, box.maximum_bits, box.maximum);
  object["fence_low"] = number(box.fence_low);
  object["fence_high"] = number(box.fence_high);
  object["num_outliers_below"] = box.num_outliers_below;
  object["num_outliers_above"] = box.num_outliers_above;
  object["fliers_complete"] = box.outliers.size() == box.num_outliers_below + box.num_outliers_above;
  object["five_numbers"] = numbers(box.five_numbers());
  object["bowley_seven"] = quantile_table(spansort::bowley_seven_q, box.bowley_seven);
  object["normal_seven"] = quantile_table(spansort::normal_seven_q, box.normal_seven);
  object["deciles"] = quantile_table(decile_q, summary.deciles);
  object["quantiles"] = quantile_table(summary.asked_q, summary.asked_quantiles);
  object["histogram"] = histogram_json(picture);
  return object.dump(1) + "\n";
}

}  // namespace cli
