// SPDX-License-Identifier: MIT
// Pages for what is about to come, got while nobody wants anything else of us, and then by
// a thread beside us.
//
// One by one, when they are first touched, they take a fifth of the time of planting. What
// was got of the heap is free memory: run_agent() has malloc keep it.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <thread>
#include <vector>

namespace dt::agent {

class Prefault {
public:
    Prefault() = default;
    ~Prefault() { stop(); }
    Prefault(const Prefault&) = delete;
    Prefault& operator=(const Prefault&) = delete;

    void begin(std::size_t n_bytes);      // of the heap
    void add(std::span<std::byte> other); // behind all else
    bool has_more() const { return !left_.empty(); }
    void fault_in_some(); // some 50 us

    // The rest, while this exists and where a processor is idle: nobody else may call
    // anything meanwhile.
    class InBackground {
    public:
        explicit InBackground(Prefault& ahead) : prefault_(ahead)
        {
            ahead.start_thread();
        }
        ~InBackground() { prefault_.stop(); }
        InBackground(const InBackground&) = delete;
        InBackground& operator=(const InBackground&) = delete;

    private:
        Prefault& prefault_;
    };

private:
    void start_thread();
    void stop();

    std::vector<std::span<std::byte>> left_; // the last one first
    std::atomic<bool> stopped_ = false;
    std::thread thread_;
};

// Without taking a processor from somebody else's thread, a target's say; n_clients: so many
// threads of the client want one, too.
bool is_a_processor_idle(std::size_t n_clients);

} // namespace dt::agent
