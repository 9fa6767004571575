// SPDX-License-Identifier: MIT
#include "libdtrace/providers/extent_maps.hpp"

#include "base/no_signals.hpp"

#include <exception>

namespace dt {

ExtentMaps::~ExtentMaps()
{
    given_up_ = true;
    if (worker_.joinable())
        worker_.join();
}

bool ExtentMaps::begin(const std::shared_ptr<ElfImage>& image)
{
    if (std::thread::hardware_concurrency() < 2)
        return false;
    std::lock_guard lock(mutex_);
    auto [entry, is_new] = entries_.try_emplace(image);
    if (is_new)
        queue_.push_back(&*entry);
    if (!is_new || works_)
        return works_;
    if (worker_.joinable())
        worker_.join(); // does not wait long, because the thread has no more work
    try {
        NoSignals here;
        worker_ = std::thread([this] { work_off(); });
    } catch (const std::exception&) { // the thread could not be started
    }
    return works_ = worker_.joinable();
}

void ExtentMaps::make(std::unique_lock<std::mutex>& lock, Entries::value_type& entry)
{
    lock.unlock();
    std::unique_ptr<ExtentMap> map;
    std::exception_ptr failed; // for example, std::bad_alloc
    try {
        map = map_extents(*entry.first, given_up_);
    } catch (...) {
        failed = std::current_exception();
    }
    lock.lock();
    entry.second = {failed ? State::queued : State::there, std::move(map)};
    made_.notify_all();
    if (failed)
        std::rethrow_exception(failed);
}

void ExtentMaps::work_off()
{
    std::unique_lock lock(mutex_);
    for (; !queue_.empty() && !given_up_; queue_.pop_front()) {
        Entries::value_type& entry = *queue_.front();
        if (entry.second.state != State::queued)
            continue;
        entry.second.state = State::under_way;
        try {
            make(lock, entry);
        } catch (const std::exception&) {
            // If of() needs this map, it computes the map again, and throws if that
            // fails.
        }
    }
    works_ = false;
}

const ExtentMap* ExtentMaps::of(const std::shared_ptr<ElfImage>& image)
{
    std::unique_lock lock(mutex_);
    Entries::value_type& entry = *entries_.try_emplace(image).first;
    made_.wait(lock, [&] { return entry.second.state != State::under_way; });
    if (entry.second.state == State::queued) {
        entry.second.state = State::under_way;
        make(lock, entry);
    }
    return entry.second.map.get();
}

} // namespace dt
