// SPDX-License-Identifier: Apache-2.0
// Widths, names and hatching of the boxes in a row.
#include "plan/draw_row.hpp"

#include <algorithm>

#include "plan/notation.hpp"

namespace spansort::plan {

namespace {

/// One piece, or several that share a box.
struct box {
  std::string first_name;
  std::string last_name;
  std::uint64_t num_pieces = 0;
  std::uint64_t count = 0;
  bool spans = false;
  std::size_t num_columns = 0;  // the line on its left included
};

constexpr std::size_t smallest_box = 2;

std::size_t columns_for(std::uint64_t count, std::uint64_t total, std::size_t num_columns) {
  return static_cast<std::size_t>(static_cast<double>(count) / static_cast<double>(total) *
                                  static_cast<double>(num_columns));
}

/// Returns what fits the inside of a box, the most telling first.
std::string label_of(const box& b, std::size_t inside) {
  std::vector<std::string> labels;
  if (b.num_pieces > 1) {
    const std::string range = b.first_name + ".." + b.last_name;
    labels = {range + " " + counted(b.num_pieces, "bucket"), range};
  } else {
    labels = {b.first_name};
  }
  labels.emplace_back("..");
  for (const std::string& label : labels) {
    if (label.size() <= inside) return label;
  }
  return ".";
}

/// The columns that a box should have at least.
std::size_t wanted_columns(const box& b) {
  const std::size_t name = b.num_pieces > 1 ? b.first_name.size() + 2 + b.last_name.size() : b.first_name.size();
  return name + 1;
}

/// `right` follows `left` and goes into its box.
void join(box& left, const box& right) {
  left.last_name = right.last_name;
  left.num_pieces += right.num_pieces;
  left.count += right.count;
}

std::size_t total_wanted(const std::vector<box>& boxes) {
  std::size_t wanted = 0;
  for (const box& b : boxes) wanted += wanted_columns(b);
  return wanted;
}

/// Runs of pieces that are too narrow for their names share a box.
std::vector<box> share_narrow(const std::vector<box>& pieces, std::uint64_t total, std::size_t num_columns) {
  std::vector<box> boxes;
  bool last_is_narrow = false;
  for (const box& p : pieces) {
    const bool is_narrow = !p.spans && columns_for(p.count, total, num_columns) < wanted_columns(p);
    if (is_narrow && last_is_narrow) {
      join(boxes.back(), p);
    } else {
      boxes.push_back(p);
    }
    last_is_narrow = is_narrow;
  }
  return boxes;
}

/// The neighbours with the fewest keys share a box. False: only boxes of spanning buckets are left, they stay apart.
bool share_smallest(std::vector<box>& boxes) {
  std::size_t smallest = 0;  // the right one of the pair
  for (std::size_t i = 1; i < boxes.size(); ++i) {
    if (boxes[i].spans || boxes[i - 1].spans) continue;
    const std::uint64_t count = boxes[i - 1].count + boxes[i].count;
    if (smallest == 0 || count < boxes[smallest - 1].count + boxes[smallest].count) smallest = i;
  }
  if (smallest == 0) return false;
  join(boxes[smallest - 1], boxes[smallest]);
  boxes.erase(boxes.begin() + static_cast<std::ptrdiff_t>(smallest));
  return true;
}

/// All pieces apart where their names fit in; otherwise as many as do.
std::vector<box> make_boxes(const std::vector<piece>& pieces, std::uint64_t total, std::size_t num_columns) {
  std::vector<box> boxes;
  for (const piece& p : pieces) boxes.push_back({p.name, p.name, 1, p.count, p.spans, 0});
  if (total_wanted(boxes) > num_columns) boxes = share_narrow(boxes, total, num_columns);
  while (total_wanted(boxes) > num_columns && share_smallest(boxes)) {
  }
  if (boxes.size() * smallest_box <= num_columns) return boxes;
  for (std::size_t i = 1; i < boxes.size(); ++i) join(boxes.front(), boxes[i]);
  boxes.resize(1);
  return boxes;
}

/// Proportional widths that sum to `num_columns`; no box below what its name wants while others can spare columns.
void set_widths(std::vector<box>& boxes, std::uint64_t total, std::size_t num_columns) {
  const bool names_fit = total_wanted(boxes) <= num_columns;
  const auto least = [&](const box& b) { return names_fit ? wanted_columns(b) : smallest_box; };

  std::size_t sum = 0;
  for (box& b : boxes) {
    b.num_columns = std::max(least(b), columns_for(b.count, total, num_columns));
    sum += b.num_columns;
  }
  const auto spare = [&](const box& a, const box& b) { return a.num_columns - least(a) < b.num_columns - least(b); };
  for (; sum > num_columns; --sum) {
    --std::max_element(boxes.begin(), boxes.end(), spare)->num_columns;  // one has some: the least widths fit
  }
  if (sum < num_columns) {
    const auto narrower = [](const box& a, const box& b) { return a.count < b.count; };
    std::max_element(boxes.begin(), boxes.end(), narrower)->num_columns += num_columns - sum;
  }
}

}  // namespace

std::string draw_boxes(const std::vector<piece>& pieces, std::size_t num_columns) {
  std::uint64_t total = 0;
  for (const piece& p : pieces) total += p.count;
  if (total == 0 || num_columns <= smallest_box) return "|";

  std::vector<box> boxes = make_boxes(pieces, total, num_columns - 1);
  set_widths(boxes, total, num_columns - 1);
  std::string row;
  for (const box& b : boxes) {
    const std::size_t inside = b.num_columns - 1;
    const std::string label = label_of(b, inside);
    row += "|" + label;
    row.append(inside - label.size(), b.spans ? '/' : ' ');
  }
  return row + "|";
}

}  // namespace spansort::plan
