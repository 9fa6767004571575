// SPDX-License-Identifier: MIT
// The extents of images, each worked out once, if wanted before somebody asks.
//
// A module's text and data are swept for them, 10 ms for each 50,000 functions, and making
// probes of these takes as long: with a second processor the one is done during the other.
#pragma once

#include "libdtrace/providers/module_extents.hpp"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

namespace dt {

class ExtentMaps {
public:
    ExtentMaps() = default;
    ~ExtentMaps(); // what is under way is given up
    ExtentMaps(const ExtentMaps&) = delete;
    ExtentMaps& operator=(const ExtentMaps&) = delete;

    // It will be requested: a thread begins. The image's functions() were called. False:
    // there is no thread for it, of() will do all.
    bool begin(const std::shared_ptr<ElfImage>& image);
    // Waits where it is under way. Null: the image has none.
    const ExtentMap* of(const std::shared_ptr<ElfImage>& image);

private:
    enum class State { queued, under_way, there };
    struct Entry {
        State state = State::queued;
        std::unique_ptr<ExtentMap> map;
    };
    using Entries = std::map<std::shared_ptr<ElfImage>, Entry>;

    void work_off();
    // Of an entry that is under_way, and by whoever made it so. Throws as map_extents() does;
    // then it is queued again.
    void make(std::unique_lock<std::mutex>& lock, Entries::value_type& entry);

    std::mutex mutex_;
    std::condition_variable made_;
    Entries entries_;
    std::deque<Entries::value_type*> queue_; // some may be taken from it already
    std::thread worker_;
    bool works_ = false;
    std::atomic<bool> given_up_ = false;
};

} // namespace dt
