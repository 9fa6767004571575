// SPDX-License-Identifier: MIT
// The extents of images. They are computed once for each image. The caller can request
// them in advance.
//
// The computation sweeps a module's text and data, which takes 10 ms for each 50,000
// functions. Creating the probes for these functions takes as long. On a machine with
// several processors, both are done at the same time.
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

    // Requests that a separate thread compute the image's extents. The image's
    // functions() must have been called before. Returns false if there is only one CPU
    // or no thread could be started. In that case, of() computes the extents.
    bool begin(const std::shared_ptr<ElfImage>& image);
    // Returns the extents of an image. Waits if the computation is in progress. Returns
    // null if the image has no extents.
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
    // marks the entry queued again and rethrows the exception.
    void make(std::unique_lock<std::mutex>& lock, Entries::value_type& entry);

    std::mutex mutex_;
    std::condition_variable made_;
    Entries entries_;
    std::deque<Entries::value_type*> queue_; // may contain entries that of() computed
    std::thread worker_;
    bool works_ = false;
    std::atomic<bool> given_up_ = false;
};

} // namespace dt
