// SPDX-License-Identifier: MIT
// Prefaults the memory that planting will use. Without this, page faults would take a
// fifth of the time of planting.
//
//   begin(), add()    choose the memory: heap, then other tables
//   fault_in_some()   prefaults a part whenever the agent has nothing else to do
//   InBackground      prefaults the rest in a thread while the agent works
//
// The chosen heap was allocated and freed again. With the settings of run_agent(),
// malloc keeps this heap for planting.
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

    // Chooses n_bytes of heap to prefault, or no heap if memory is scarce. Discards all
    // memory that was chosen before.
    void begin(std::size_t n_bytes);
    void add(std::span<std::byte> other); // adds memory that is prefaulted last
    bool has_more() const { return !left_.empty(); }
    // Prefaults one part, which takes about 50 us. has_more() must be true.
    void fault_in_some();

    // If a processor is idle, prefaults the remaining parts in a thread, which the
    // destructor stops. No member function of Prefault may be called while this object
    // exists.
    class InBackground {
    public:
        explicit InBackground(Prefault& prefault) : prefault_(prefault)
        {
            prefault.start_thread();
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

    std::vector<std::span<std::byte>> left_; // the last one is prefaulted first
    std::atomic<bool> stopped_ = false;
    std::thread thread_;
};

// Returns whether other programs leave a processor free for one more thread of the
// agent. The n_clients running threads of the client are not counted.
bool is_a_processor_idle(std::size_t n_clients);

} // namespace dt::agent
