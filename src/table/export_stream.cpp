// SPDX-License-Identifier: Apache-2.0
// A stream of Arrow's C interface over batches of ours.
#include <cerrno>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "spansort/errors.hpp"
#include "table/arrow_exchange.hpp"
#include "table/arrow_rows.hpp"

namespace spansort::table {
namespace {

struct exported_stream {
  std::unique_ptr<batch_source> source;
  int failure = 0;  ///< for good: what was lost in it cannot be handed out any more
  std::string last_error = {};

  int fail(int code, const char* reason) noexcept {
    failure = code;
    try {
      last_error = reason;
    } catch (const std::bad_alloc&) {
      last_error.clear();
    }
    return code;
  }

  /// Nothing is thrown through the functions of C.
  template <class F>
  int hand_out(const F& f) noexcept {
    if (failure != 0) return failure;
    try {
      f();
      return 0;
    } catch (const std::bad_alloc&) {
      return fail(ENOMEM, "out of memory");
    } catch (const out_of_memory& reason) {
      return fail(ENOMEM, reason.what());
    } catch (const io_error& reason) {
      return fail(reason.code() == 0 ? EIO : reason.code(), reason.what());
    } catch (const std::exception& reason) {
      return fail(EIO, reason.what());
    }
  }

  static exported_stream& of(ArrowArrayStream* stream) { return *static_cast<exported_stream*>(stream->private_data); }
  static int get_schema(ArrowArrayStream* stream, ArrowSchema* schema) {
    return of(stream).hand_out([&] { export_schema(of(stream).source->schema(), schema); });
  }
  static int get_next(ArrowArrayStream* stream, ArrowArray* batch) {
    batch->release = nullptr;
    return of(stream).hand_out([&] {
      arrow_rows rows;
      if (of(stream).source->next(rows)) export_batch(rows.columns, rows.num_rows, batch);
    });
  }
  static const char* get_last_error(ArrowArrayStream* stream) {
    return of(stream).last_error.empty() ? nullptr : of(stream).last_error.c_str();
  }
  static void release(ArrowArrayStream* stream) {
    delete &of(stream);
    stream->release = nullptr;
  }
};

}  // namespace

void export_stream(std::unique_ptr<batch_source> source, ArrowArrayStream* stream) {
  stream->private_data = new exported_stream{std::move(source)};
  stream->get_schema = &exported_stream::get_schema;
  stream->get_next = &exported_stream::get_next;
  stream->get_last_error = &exported_stream::get_last_error;
  stream->release = &exported_stream::release;
}

}  // namespace spansort::table
