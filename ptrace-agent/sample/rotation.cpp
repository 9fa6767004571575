// SPDX-License-Identifier: MIT
#include "ptrace-agent/sample/rotation.hpp"

#include <algorithm>

namespace dt::agent {

constexpr std::uint8_t looks_until_idle = 64;
constexpr unsigned ticks_until_idle_first = 8;

void Rotation::begin()
{
    n_busy_left_ = busy_.size();
    n_idle_left_ = idle_.size();
    idle_first_ = ++n_ticks_ % ticks_until_idle_first == 0;
}

pid_t Rotation::take(std::deque<Entry>& from, std::size_t& n_left)
{
    --n_left;
    current_ = from.front();
    from.pop_front();
    was_busy_ = &from == &busy_;
    return current_.tid;
}

std::optional<pid_t> Rotation::next()
{
    if (n_idle_left_ != 0 && idle_first_) {
        idle_first_ = false;
        return take(idle_, n_idle_left_);
    }
    if (n_busy_left_ != 0)
        return take(busy_, n_busy_left_);
    if (std::size_t n_new = new_.size(); n_new != 0)
        return take(new_, n_new);
    if (n_idle_left_ != 0)
        return take(idle_, n_idle_left_);
    return std::nullopt;
}

void Rotation::seen(Found found)
{
    if (found == Found::running)
        current_.n_asleep = 0;
    else if (found == Found::asleep && current_.n_asleep < looks_until_idle)
        ++current_.n_asleep;
    bool busy =
        found == Found::running || (was_busy_ && current_.n_asleep < looks_until_idle);
    (busy ? busy_ : idle_).push_back(current_);
}

bool SampleBudget::may_spend(std::uint64_t now_ns, std::size_t n_running)
{
    const auto n = static_cast<std::int64_t>(std::max<std::size_t>(n_running, 1));
    if (earned_at_ns_ != 0)
        left_ns_ +=
            static_cast<std::int64_t>((now_ns - earned_at_ns_) / 100 * percent) * n;
    earned_at_ns_ = now_ns;
    left_ns_ = std::min(left_ns_, most_ns * n);
    return left_ns_ > 0;
}

} // namespace dt::agent
