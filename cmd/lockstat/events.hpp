// SPDX-License-Identifier: MIT
// The table of the events that lockstat(1) can watch. Each row has the D probe and
// predicate for one event.
#pragma once

#include <span>

struct Event {
    int id;
    char kind; // 'C': contention, 'H': hold, 'I': profiling interrupt
    const char* name;
    const char* lock; // heading of the column with the lock
    const char* probe;
    const char* predicate; // null: no predicate
    const char* acquire;   // the probe at the start of a hold; null for other kinds
    // For a hold: whether several threads may hold the lock at the same time.
    bool shared = false;
};

constexpr int n_event_ids = 64; // ids are 0 to 63

std::span<const Event> all_events();
