// SPDX-License-Identifier: MIT
#include "records.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace {

std::uint64_t word(const char* at)
{
    std::uint64_t value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
}

// Removes the offset: returns "vfs_read" for "vfs_read+0x1c".
std::string function_of(const std::string& text)
{
    return text.substr(0, text.find('+'));
}

// Returns whether the function is part of the kernel's code that acquires locks or
// waits for them. The first function in a stack that is not lock code caused the event.
bool is_lock_code(const std::string& function)
{
    static constexpr const char* beginnings[] = {"mutex_",
                                                 "__mutex_",
                                                 "ww_mutex_",
                                                 "__ww_mutex_",
                                                 "rt_mutex_",
                                                 "__rt_mutex_",
                                                 "_raw_",
                                                 "__raw_",
                                                 "queued_",
                                                 "native_queued_",
                                                 "__pv_queued_",
                                                 "pv_queued_",
                                                 "down_",
                                                 "__down_",
                                                 "rwsem_",
                                                 "percpu_down_",
                                                 "__percpu_",
                                                 "percpu_rwsem_",
                                                 "__traceiter_contention_",
                                                 "rt_spin_",
                                                 "raw_spin_rq_lock"};
    return std::any_of(std::begin(beginnings), std::end(beginnings),
                       [&](const char* begin) { return function.starts_with(begin); });
}

} // namespace

void Record::add(const Record& other)
{
    count += other.count;
    ns += other.ns;
    for (std::size_t i = 0; i < histogram.size(); i++)
        histogram[i] += other.histogram[i];
}

int Records::take()
{
    raw_.clear();
    return dtrace_aggregate_walk(session_, on_aggregate, this);
}

int Records::on_aggregate(const dtrace_aggdata_t* data, void* arg)
{
    const char* name = data->dtada_name;
    if (std::strchr("ntq", *name) != nullptr)
        static_cast<Records*>(arg)->add(*data, *name, std::atoi(name + 1));
    return DTRACE_AGGWALK_NEXT;
}

void Records::add(const dtrace_aggdata_t& data, char what, int id)
{
    Raw& raw = raw_[{id, std::string(data.dtada_key, data.dtada_keysize)}];
    if (what == 'n') {
        raw.record.count = static_cast<std::uint64_t>(data.dtada_value[0]);
        raw.lock = word(data.dtada_key + data.dtada_keys[0].dtrd_offset);
        raw.caller = word(data.dtada_key + data.dtada_keys[1].dtrd_offset);
        const dtrace_recdesc_t* stack =
            data.dtada_nkeys > 2 ? &data.dtada_keys[2] : nullptr;
        for (std::uint32_t at = 0; stack != nullptr && at + 8 <= stack->dtrd_size;
             at += 8)
            if (auto pc = word(data.dtada_key + stack->dtrd_offset + at); pc != 0)
                raw.stack.push_back(pc);
        if (args_.traced && data.dtada_nkeys == 3)
            raw.stack.clear(); // the third key is the time stamp, not a stack
    } else if (what == 't') {
        raw.record.ns = static_cast<std::uint64_t>(data.dtada_value[0]);
    } else {
        // The value of quantize() has 127 words. The middle word counts the value 0,
        // and the following words count values from 1, 2, 4 and so on.
        constexpr std::size_t zero = 63;
        for (std::size_t i = zero; i < data.dtada_valuesize / 8 && i < 127; i++)
            raw.record.histogram[i == zero ? 0 : i - zero - 1] +=
                static_cast<std::uint64_t>(data.dtada_value[i]);
    }
}

// For contention, removes the frames of lock code from the top of the stack, and sets
// raw.caller to the function that caused the event. Returns false if -f excludes the
// record.
bool Records::find_caller(Raw& raw, const Event& event)
{
    if (event.kind == 'C') {
        auto& stack = raw.stack;
        auto first = std::find_if(stack.begin(), stack.end(), [this](std::uint64_t pc) {
            return !is_lock_code(place_name(pc));
        });
        stack.erase(stack.begin(), first);
        raw.caller = stack.empty() ? 0 : stack.front();
    }
    if (functions_.empty())
        return true;
    auto wanted = [this](std::uint64_t pc) {
        return std::any_of(functions_.begin(), functions_.end(),
                           [pc](const Range& range) { return range.has(pc); });
    };
    return wanted(raw.caller) ||
           (args_.generated && std::any_of(raw.stack.begin(), raw.stack.end(), wanted));
}

std::string Records::place_name(std::uint64_t addr)
{
    if (addr == 0)
        return "(usermode)";
    char text[256];
    dtrace_addr2str(session_, addr, text, sizeof text);
    const char* tick = std::strchr(text, '`');
    return tick != nullptr ? tick + 1 : text;
}

std::string Records::lock_name(const Raw& raw, const Event& event)
{
    if (args_.any_lock)
        return "*";
    if (event.kind == 'I') {
        std::string text = "cpu[" + std::to_string(raw.lock >> 8) + "]";
        return (raw.lock & 255) == 0 ? text
                                     : text + "+" + std::to_string(raw.lock & 255);
    }
    std::string text = place_name(raw.lock);
    return args_.arrays_joined ? function_of(text) : text;
}

void Records::name(Raw& raw, const Event& event)
{
    Record& record = raw.record;
    auto shown = [this](std::uint64_t pc) {
        return args_.functions_joined || args_.generated ? function_of(place_name(pc))
                                                         : place_name(pc);
    };
    record.lock = lock_name(raw, event);
    record.caller = args_.any_caller ? "*" : shown(raw.caller);
    for (std::uint64_t pc : raw.stack)
        record.stack.push_back(shown(pc));
}

void Records::merge(std::map<std::string, Record>& to, const Record& record,
                    std::size_t n)
{
    // With -T, `n` makes each key different, so records are not merged.
    std::string key = record.lock + '\0' + record.caller;
    if (args_.traced)
        key += '\0' + std::to_string(n);
    if (args_.detail == Detail::Stacks && !args_.generated)
        for (const std::string& frame : record.stack)
            key += '\0' + frame;
    auto [at, is_new] = to.try_emplace(key, record);
    if (!is_new)
        at->second.add(record);
}

Rows Records::rows(const Event& event)
{
    Rows rows;
    std::map<std::string, Record> merged;
    std::size_t n = 0;
    for (auto& [key, raw] : raw_) {
        if (key.first != event.id || raw.record.count == 0 || !find_caller(raw, event))
            continue;
        name(raw, event);
        rows.count += raw.record.count;
        rows.ns += raw.record.ns;
        if (!args_.generated) {
            if (raw.record.stack.size() > args_.depth)
                raw.record.stack.resize(args_.depth);
            merge(merged, raw.record, n++);
            continue;
        }
        std::vector<std::string> functions = std::move(raw.record.stack);
        functions.push_back(raw.record.caller);
        std::sort(functions.begin(), functions.end());
        functions.erase(std::unique(functions.begin(), functions.end()),
                        functions.end());
        Record record = raw.record;
        record.stack.clear();
        for (const std::string& function : functions) {
            record.caller = args_.any_caller ? "*" : function;
            merge(merged, record, n++);
            if (args_.any_caller)
                break;
        }
    }
    for (auto& [key, record] : merged)
        rows.records.push_back(std::move(record));
    std::stable_sort(rows.records.begin(), rows.records.end(),
                     [this](const Record& a, const Record& b) {
                         return args_.by_product ? a.ns > b.ns : a.count > b.count;
                     });
    return rows;
}
