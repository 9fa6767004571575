// SPDX-License-Identifier: MIT
// The inputs of reader_messages_fuzz: the first byte selects a read_*() function of the
// protocol, and the rest is the message.
#pragma once

#include <cstdint>

namespace dt::fuzz {

enum MessageKind : std::uint8_t {
    message_facts,
    message_functions,
    message_ranges,
    message_places,
    message_probes,
    message_texts,
    message_type,
    message_function,
    message_error,
    n_message_kinds,
};

} // namespace dt::fuzz
