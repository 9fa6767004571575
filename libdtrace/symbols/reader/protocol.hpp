// SPDX-License-Identifier: MIT
// The requests to a reader process, and the bodies of their replies.
//
// Each request has one reply. Before the reader replies, it may send requests of its
// own: to open a file, and for the path of a descriptor. Both programs are the same
// binary, so the protocol has no version.
//
// The reader parses files of hostile targets, so dtrace does not trust its replies.
// Each read_*() function checks the conditions on which the rest of dtrace relies, for
// example that addresses ascend and that indices are in range. It returns false if the
// check fails.
#pragma once

#include "base/message.hpp"
#include "libdtrace/symbols/debug/debug_types.hpp"
#include "libdtrace/symbols/elf/elf_tables.hpp"

#include <cstdint>
#include <vector>

namespace dt {

// Requests to the reader; ReaderServer::answer() dispatches them. The body begins with
// the number of the image. The body of `close` is a list of such numbers.
// clang-format off
#define READER_REQUESTS(X) /* X(name) */ \
    X(open) X(close) X(functions) X(match) X(suggest) X(take_cuts) X(find_variable) \
    X(variable_at) X(has_types) X(open_types) X(frame_functions) X(code_places) X(static_probes) \
    X(find_type) X(find_type_variable) X(find_enumerator) X(function_at) X(type) X(type_names)
// clang-format on

enum ReaderWord : std::uint32_t {
    reader_none,
#define X(name) reader_##name,
    READER_REQUESTS(X)
#undef X
        reader_demangle, // the body is only the name
    reader_ok,
    reader_error,
    // Requests of the reader to dtrace.
    reader_wants_file, // body: the path; the reply has a descriptor, or none
    reader_wants_path, // with a descriptor; body of the reply: the path
};

void write_error(MessageWriter& out, const Error& error);
Error read_error(MessageReader& in);

void write_facts(MessageWriter& out, const ElfFacts& facts);
bool read_facts(MessageReader& in, ElfFacts& facts);

// The names in the table that read_functions() returns are views into the message.
void write_functions(MessageWriter& out, const FunctionTable& table);
bool read_functions(MessageReader& in, FunctionTable& table);

void write_ranges(MessageWriter& out, std::span<const AddressRange> ranges);
bool read_ranges(MessageReader& in, std::vector<AddressRange>& ranges);

void write_places(MessageWriter& out, const CodePlaces& places);
bool read_places(MessageReader& in, CodePlaces& places);

void write_probes(MessageWriter& out, const StaticProbes& probes);
bool read_probes(MessageReader& in, StaticProbes& probes);

void write_texts(MessageWriter& out, const std::vector<std::string>& texts);
bool read_texts(MessageReader& in, std::vector<std::string>& texts);

void write_type(MessageWriter& out, const DebugType& type);
bool read_type(MessageReader& in, DebugType& type);

void write_function(MessageWriter& out, const DebugFunction& function);
bool read_function(MessageReader& in, DebugFunction& function);

template <class T>
void write_optional(MessageWriter& out, const std::optional<T>& value)
{
    out.put(static_cast<std::uint8_t>(value.has_value())).put(value.value_or(T{}));
}
template <class T> bool read_optional(MessageReader& in, std::optional<T>& value)
{
    const bool present = in.get<std::uint8_t>() != 0;
    const T read = in.get<T>();
    value = present ? std::optional(read) : std::nullopt;
    return in.ok();
}

} // namespace dt
