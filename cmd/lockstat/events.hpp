// SPDX-License-Identifier: MIT
// The events that lockstat(1) watches: one row each, with the D code for it.
#pragma once

#include <span>

struct Event {
    int id;
    char kind; // C contention, H hold, I profiling
    const char* name;
    const char* lock; // heading of the lock's column
    const char* probe;
    const char* predicate; // null: no predicate
    const char* acquire;   // for a hold: the probe at its start; else null
    // for a hold: several threads may hold the lock at the same time
    bool shared = false;
};

constexpr int n_event_ids = 64;

std::span<const Event> all_events();
