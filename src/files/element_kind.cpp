// SPDX-License-Identifier: Apache-2.0
#include "files/element_kind.hpp"

#include <fmt/format.h>

#include <utility>

#include "files/index_bytes.hpp"
#include "files/index_order.hpp"
#include "files/indexed_records.hpp"
#include "files/io/key_reader.hpp"
#include "files/io/key_writer.hpp"
#include "files/key_element_orders.hpp"
#include "files/record_order.hpp"
#include "files/typed_input.hpp"
#include "files/valued_keys.hpp"
#include "spansort/errors.hpp"

namespace spansort::files {
namespace {

/// This base is what all kinds of elements that are made of keys share.
class kind_of_keys : public element_kind {
 public:
  kind_of_keys(key_reader reader, const std::string& input, const std::string& output)
      : reader_(std::move(reader)),
        target_(find_output(output)),
        layout_(output_layout(target_, input, reader_.layout())),
        name_(reader_.name()),
        num_keys_(reader_.num_keys()) {}

  [[nodiscard]] const std::string& input_name() const noexcept override { return name_; }
  [[nodiscard]] std::optional<std::uint64_t> num_elements() const override { return num_keys_; }
  [[nodiscard]] std::uint64_t input_bytes() const override { return num_keys_.value_or(0) * layout_.element_bytes(); }
  [[nodiscard]] std::optional<key_type> type() const noexcept override { return held_type(); }
  [[nodiscard]] const output_target& target() const noexcept override { return target_; }

 protected:
  [[nodiscard]] key_type held_type() const noexcept { return layout_.type; }
  [[nodiscard]] key_reader& reader() noexcept { return reader_; }
  /// That of an output of keys.
  [[nodiscard]] const key_layout& layout() const noexcept { return layout_; }

  void require_memory(std::uint64_t workspace_bytes_per_key, std::uint64_t limit_bytes) const {
    reader_.require_memory({[=](key_type) { return workspace_bytes_per_key; }, limit_bytes});
  }

 private:
  key_reader reader_;
  output_target target_;
  key_layout layout_;
  std::string name_;
  std::optional<std::uint64_t> num_keys_;
};

class plain_keys final : public kind_of_keys {
 public:
  using kind_of_keys::kind_of_keys;

  [[nodiscard]] std::uint64_t output_bytes(std::uint64_t count) const override { return file_bytes(layout(), count); }
  [[nodiscard]] std::unique_ptr<external::element_order> make_order(direction d,
                                                                    const sort_options& options) const override {
    return make_key_order(held_type(), d, options);
  }
  [[nodiscard]] std::unique_ptr<external::element_source> take_source(source_options options) override {
    return make_key_source(std::move(reader()), std::move(options));
  }
  [[nodiscard]] std::unique_ptr<external::element_sink> make_sink(const sink_options& options) const override {
    return make_key_sink(target(), layout(), options);
  }
  [[nodiscard]] disk_form form() const override { return form_of_keys(layout()); }
  void hold_whole(std::uint64_t limit_bytes) override { require_memory(size_bytes(held_type()), limit_bytes); }
  [[nodiscard]] std::uint64_t whole_bytes() const override { return input_bytes(); }
};

/// Keys of which the order is written. In parts, an element is a key with its index; held whole, it is an index alone,
/// and the keys lie beside the elements where they were read to.
class indexed_keys final : public kind_of_keys {
 public:
  indexed_keys(key_reader reader, const std::string& input, const std::string& output, key_type index_type)
      : kind_of_keys(std::move(reader), input, output), index_layout_(index_layout_of(layout(), index_type)) {
    require_index_type(index_type, num_elements().value_or(0));
  }

  [[nodiscard]] std::uint64_t output_bytes(std::uint64_t count) const override {
    return file_bytes(index_layout_, count);
  }
  [[nodiscard]] std::unique_ptr<external::element_order> make_order(direction d,
                                                                    const sort_options& options) const override {
    return whole_ ? make_index_order(whole_, d, options) : make_indexed_key_order(held_type(), d, options);
  }
  [[nodiscard]] std::unique_ptr<external::element_source> take_source(source_options options) override {
    if (!whole_) return make_indexed_key_source(std::move(reader()), std::move(options));
    return make_index_source(std::move(reader()), whole_, std::move(options));
  }
  [[nodiscard]] std::unique_ptr<external::element_sink> make_sink(const sink_options& options) const override {
    return make_index_sink(target(), index_layout_, whole_ ? 0 : size_bytes(held_type()), options);
  }
  [[nodiscard]] disk_form form() const override {
    return form_of_indices(index_layout_, whole_ ? 0 : size_bytes(held_type()));
  }
  /// Needs beside the keys 8 bytes an index in the result, a copy of the keys, and as much of both in the workspace.
  void hold_whole(std::uint64_t limit_bytes) override {
    require_memory(2 * (index_bytes + size_bytes(held_type())), limit_bytes);
    whole_ = std::make_shared<loaded_keys>();
    whole_->layout = layout();
  }
  [[nodiscard]] std::uint64_t whole_bytes() const override {
    return input_bytes() + num_elements().value_or(0) * index_bytes;
  }

 private:
  key_layout index_layout_;
  std::shared_ptr<loaded_keys> whole_;  ///< null: sorted in parts
};

/// Elements of a .npy array that are no keys.
class array_records final : public kind_of_keys {
 public:
  array_records(key_reader reader, const std::string& input, const std::string& output, record_format format)
      : kind_of_keys(std::move(reader), input, output), format_(std::move(format)) {}

  [[nodiscard]] std::uint64_t record_bytes() const noexcept override { return format_.record_bytes; }
  [[nodiscard]] std::optional<key_type> type() const noexcept override { return std::nullopt; }
  [[nodiscard]] std::uint64_t output_bytes(std::uint64_t count) const override { return file_bytes(layout(), count); }
  [[nodiscard]] std::unique_ptr<external::element_order> make_order(direction d,
                                                                    const sort_options& options) const override {
    return make_record_order(format_, d, options);
  }
  [[nodiscard]] std::unique_ptr<external::element_source> take_source(source_options options) override {
    return make_key_source(std::move(reader()), std::move(options));
  }
  [[nodiscard]] std::unique_ptr<external::element_sink> make_sink(const sink_options& options) const override {
    return make_key_sink(target(), layout(), options);
  }
  [[nodiscard]] disk_form form() const override { return form_of_keys(layout()); }
  void hold_whole(std::uint64_t) override {}
  [[nodiscard]] std::uint64_t whole_bytes() const override { return input_bytes(); }
  [[nodiscard]] const key_layout& output_form() const noexcept { return layout(); }

 private:
  record_format format_;
};

class plain_records final : public element_kind {
 public:
  plain_records(const std::string& input, const std::string& output, const record_format& format)
      : format_(format), input_(input), target_(find_output(output)), name_(input_.name()) {
    if (const auto size = input_.size_bytes()) num_records_ = *size / format_.record_bytes;
  }

  [[nodiscard]] const std::string& input_name() const noexcept override { return name_; }
  [[nodiscard]] std::optional<std::uint64_t> num_elements() const override { return num_records_; }
  [[nodiscard]] std::uint64_t input_bytes() const override { return output_bytes(num_records_.value_or(0)); }
  [[nodiscard]] std::uint64_t record_bytes() const noexcept override { return format_.record_bytes; }
  [[nodiscard]] std::optional<key_type> type() const noexcept override { return std::nullopt; }
  [[nodiscard]] const output_target& target() const noexcept override { return target_; }
  [[nodiscard]] std::uint64_t output_bytes(std::uint64_t count) const override { return count * format_.record_bytes; }
  [[nodiscard]] std::unique_ptr<external::element_order> make_order(direction d,
                                                                    const sort_options& options) const override {
    return make_record_order(format_, d, options);
  }
  [[nodiscard]] std::unique_ptr<external::element_source> take_source(source_options options) override {
    return make_record_source(std::move(input_), format_.record_bytes, std::move(options));
  }
  [[nodiscard]] std::unique_ptr<external::element_sink> make_sink(const sink_options& options) const override {
    return make_record_sink(target_, format_.record_bytes, options);
  }
  [[nodiscard]] disk_form form() const override { return form_of_records(target_, format_.record_bytes); }
  void hold_whole(std::uint64_t) override {}
  [[nodiscard]] std::uint64_t whole_bytes() const override { return input_bytes(); }

 private:
  record_format format_;
  input_file input_;
  output_target target_;
  std::string name_;
  std::optional<std::uint64_t> num_records_;
};

/// Records of which the order is written: elements are their keys and an index.
class indexed_records final : public element_kind {
 public:
  /// `layout` is that of an output of such records.
  indexed_records(std::unique_ptr<element_kind> records, record_format format, const key_layout& layout,
                  key_type index_type)
      : records_(std::move(records)),
        format_(std::move(format)),
        packed_(packed_format(format_)),
        index_layout_(index_layout_of(layout, index_type)) {
    require_index_type(index_type, num_elements().value_or(0));
  }

  [[nodiscard]] const std::string& input_name() const noexcept override { return records_->input_name(); }
  [[nodiscard]] std::optional<std::uint64_t> num_elements() const override { return records_->num_elements(); }
  [[nodiscard]] std::uint64_t input_bytes() const override { return records_->input_bytes(); }
  [[nodiscard]] std::uint64_t record_bytes() const noexcept override { return format_.record_bytes; }
  [[nodiscard]] std::optional<key_type> type() const noexcept override { return std::nullopt; }
  [[nodiscard]] const output_target& target() const noexcept override { return records_->target(); }
  [[nodiscard]] std::uint64_t output_bytes(std::uint64_t count) const override {
    return file_bytes(index_layout_, count);
  }
  [[nodiscard]] std::unique_ptr<external::element_order> make_order(direction d,
                                                                    const sort_options& options) const override {
    return make_record_order(packed_, d, options);
  }
  [[nodiscard]] std::unique_ptr<external::element_source> take_source(source_options options) override {
    const std::uint64_t first_index = options.share ? options.share->first : 0;
    return make_indexed_record_source(records_->take_source(std::move(options)), format_, first_index);
  }
  [[nodiscard]] std::unique_ptr<external::element_sink> make_sink(const sink_options& options) const override {
    return make_index_sink(target(), index_layout_, packed_.record_bytes - index_bytes, options);
  }
  [[nodiscard]] disk_form form() const override {
    return form_of_indices(index_layout_, packed_.record_bytes - index_bytes);
  }
  void hold_whole(std::uint64_t) override {}
  [[nodiscard]] std::uint64_t whole_bytes() const override { return num_elements().value_or(0) * packed_.record_bytes; }

 private:
  std::unique_ptr<element_kind> records_;
  record_format format_;
  record_format packed_;
  key_layout index_layout_;
};

/// Ties and indices are in C order, which is not the file's where several dimensions of a Fortran array are taken as
/// one.
void require_c_order(const key_reader& reader) {
  if (!reader.array() || !reader.array()->is_fortran || reader.layout().is_one_row) return;
  throw invalid_argument(fmt::format(
      "{}: is an array in Fortran order, whose elements have another order than their indices; save it with "
      "np.ascontiguousarray() first",
      reader.name()));
}

std::unique_ptr<element_kind> open_typed(const std::string& input, const std::string& output, const file_options& file,
                                         element_outcome outcome) {
  typed_input typed = open_typed_input(input, {file.type, file.array, file.direction});
  if (file.on_sorted && (typed.records || typed.is_time)) {
    throw invalid_argument(
        fmt::format("{}: {} has no summary (--summary), which is made of numbers", input, typed.elements));
  }
  if (typed.is_along_axis)
    throw invalid_argument(fmt::format("{}: rows along an axis are sorted in memory and have no plan", input));
  const bool wants_indices = outcome == element_outcome::indices;
  if (wants_indices || typed.records) require_c_order(typed.reader);
  if (!typed.records) {
    if (!wants_indices) return std::make_unique<plain_keys>(std::move(typed.reader), input, output);
    return std::make_unique<indexed_keys>(std::move(typed.reader), input, output, file.index_type);
  }
  auto records = std::make_unique<array_records>(std::move(typed.reader), input, output, *typed.records);
  if (!wants_indices) return records;
  const key_layout layout = records->output_form();
  return std::make_unique<indexed_records>(std::move(records), std::move(*typed.records), layout, file.index_type);
}

}  // namespace

std::unique_ptr<element_kind> open_elements(const std::string& input, const std::string& output,
                                            const file_options& file, element_outcome outcome) {
  if (file.values && outcome == element_outcome::elements) return open_valued_keys(input, output, file);
  if (!file.records) return open_typed(input, output, file, outcome);
  if (file.on_sorted) throw invalid_argument("records have no summary: they are no numbers");
  check_record_format(*file.records);
  auto records = std::make_unique<plain_records>(input, output, *file.records);
  if (outcome == element_outcome::elements) return records;
  const key_layout layout = output_layout(records->target(), input, {});
  return std::make_unique<indexed_records>(std::move(records), *file.records, layout, file.index_type);
}

}  // namespace spansort::files
