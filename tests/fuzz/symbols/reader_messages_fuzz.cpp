// SPDX-License-Identifier: MIT
// Reads arbitrary bytes as replies of the symbol reader. If a reply is accepted, its
// content must not change when it is written and read again.
//
//   reader_messages_fuzz -max_total_time=60 -rss_limit_mb=2048 -timeout=20 CORPUS
//
// reader_messages_seeds writes a corpus.
#include "tests/fuzz/symbols/reader_messages.hpp"

#include "libdtrace/symbols/reader/protocol.hpp"
#include "tests/fuzz/require.hpp"

#include <algorithm>

using namespace dt;
using dt::fuzz::require;

namespace {

using Message = std::span<const std::byte>;

// Returns whether the message was accepted.
template <class T, class Write>
bool read(Message message, bool (*read_one)(MessageReader&, T&), Write write_one,
          T& value)
{
    MessageReader in(message);
    if (!read_one(in, value))
        return false;
    MessageWriter first, second;
    write_one(first, value);
    T again;
    MessageReader from_first(first.body());
    require(read_one(from_first, again) && from_first.complete());
    write_one(second, again);
    require(first.body() == second.body());
    return true;
}

template <class T, class Write>
void read(Message message, bool (*read_one)(MessageReader&, T&), Write write_one)
{
    T value;
    read(message, read_one, write_one, value);
}

void read_and_use_functions(Message message)
{
    FunctionTable table;
    if (!read(message, read_functions, write_functions, table))
        return;
    for (const Function& function : table.all()) {
        const auto names = table.names(function);
        require(!names.empty() && names.front().text == table.name(function));
        // at() does not find a function if the sum of its address and size overflows.
        if (function.addr + function.n_bytes > function.addr)
            require(table.at(function.addr) == &function);
        table.at(function.addr + function.n_bytes - 1);
        for (const FunctionName& name : names) {
            const auto all = table.find_all(name.text);
            require(std::find(all.begin(), all.end(), &function) != all.end());
            require(table.find(name.text) == all.front());
            name.is_of_part();
        }
    }
    table.match("*a*::*");
    require(table.match("*").size() == table.all().size());
    table.suggest("mallok");
}

void read_message(fuzz::MessageKind kind, Message message)
{
    switch (kind) {
    case fuzz::message_facts:
        return read(message, read_facts, write_facts);
    case fuzz::message_functions:
        return read_and_use_functions(message);
    case fuzz::message_ranges:
        return read(message, read_ranges, write_ranges);
    case fuzz::message_places:
        return read(message, read_places, write_places);
    case fuzz::message_probes:
        return read(message, read_probes, write_probes);
    case fuzz::message_texts:
        return read(message, read_texts, write_texts);
    case fuzz::message_type:
        return read(message, read_type, write_type);
    case fuzz::message_function:
        return read(message, read_function, write_function);
    case fuzz::message_error: {
        MessageReader in(message);
        const Error error = read_error(in);
        require(in.ok() || error.code == Code::corrupt);
        require(error.code <= Code::corrupt);
        return;
    }
    case fuzz::n_message_kinds:
        break;
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    if (size == 0)
        return 0;
    const auto kind = static_cast<fuzz::MessageKind>(data[0] % fuzz::n_message_kinds);
    read_message(kind, std::as_bytes(std::span(data, size)).subspan(1));
    return 0;
}
