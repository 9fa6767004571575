// SPDX-License-Identifier: MIT
// The events that lockstat(1) watches: one row each, with the D that tells of it.
#pragma once

#include <span>

struct Event {
    int id;
    char kind; // C contention, H hold, I profiling
    const char* name;
    const char* lock; // what the column of it is called
    const char* probe;
    const char* predicate; // null: none
    const char* acquire;   // of a hold: the probe where it begins; else null
    bool shared = false;   // of a hold: by several at a time
};

constexpr int n_event_ids = 64;

std::span<const Event> all_events();
