// SPDX-License-Identifier: MIT
// The extents of images, which are computed once for each image. The caller can request
// them in advance.
//
// The computation takes 10 ms for each 50,000 functions. Creating the probes of these
// functions takes as long. So another thread computes the extents at the same time.
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
    ~ExtentMaps(); // cancels computations in progress
    ExtentMaps(const ExtentMaps&) = delete;
    ExtentMaps& operator=(const ExtentMaps&) = delete;

    // Starts to compute the image's extents in another thread. image->functions() must
    // have been called before. Returns false if there is only one CPU or no thread
    // could be started.
    bool begin(const std::shared_ptr<ElfImage>& image);
    // Returns the extents of an image. Waits until they are computed. Returns null if
    // the image has no extents.
    const ExtentMap* of(const std::shared_ptr<ElfImage>& image);

private:
    enum class State { queued, under_way, there };
    struct Entry {
        State state = State::queued;
        std::unique_ptr<ExtentMap> map;
    };
    using Entries = std::map<std::shared_ptr<ElfImage>, Entry>;

    void work_off();
    // Computes an entry that the caller has marked under_way. If map_extents() throws,
    // marks the entry queued and rethrows.
    void make(std::unique_lock<std::mutex>& lock, Entries::value_type& entry);

    std::mutex mutex_;
    std::condition_variable made_;
    Entries entries_;
    std::deque<Entries::value_type*> queue_; // may contain entries that of() has
                                             // already computed
    std::thread worker_;
    bool works_ = false;
    std::atomic<bool> given_up_ = false;
};

} // namespace dt
