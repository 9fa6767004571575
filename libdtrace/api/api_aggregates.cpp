// SPDX-License-Identifier: MIT
// C API: snapshots, walks and printing of aggregations.
#include "libdtrace/api/views.hpp"

#include "libdtrace/consume/agg_value.hpp"

#include <algorithm>
#include <deque>

namespace {

// Converts the result of a callback to a verdict. An invalid result becomes Error. For
// Normalize, stores the callback's divisor (dtada_normal) in the entry.
dt::AggVerdict verdict_of(dtrace_hdl& session, int said, const dtrace_aggdata_t& data,
                          dt::AggEntry& entry)
{
    auto verdict = static_cast<dt::AggVerdict>(said);
    if (said < DTRACE_AGGWALK_ERROR || said > DTRACE_AGGWALK_REMOVE ||
        (verdict == dt::AggVerdict::Normalize && data.dtada_normal == 0)) {
        session.fail(EDT_BADRVAL);
        return dt::AggVerdict::Error;
    }
    if (verdict == dt::AggVerdict::Error || verdict == dt::AggVerdict::Abort)
        session.fail(EDT_DIRABORT);
    else if (verdict == dt::AggVerdict::Normalize)
        entry.normal = static_cast<std::uint64_t>(data.dtada_normal);
    return verdict;
}

int walk(dtrace_hdl& session, dtrace_aggregate_f* func, void* arg, dt::AggOrder order,
         bool reverse)
{
    if (!session.state().consumer)
        return session.fail(EINVAL);
    bool complete = session.state().consumer->aggregates().walk(
        0, order, session.state().consumer->display(), reverse,
        [&](dt::AggEntry& entry) {
            AggView view(session, entry);
            int said = func(&view.data, arg);
            return verdict_of(session, said, view.data, entry);
        });
    return complete ? 0 : -1;
}

// One row of a joined walk: an entry with the key, then one entry for each aggregation.
class Row {
public:
    Row(dtrace_hdl& session, const std::vector<dt::AggEntry*>& columns,
        const std::vector<const dt::AggDesc*>& descs)
        : session_(session), columns_(columns)
    {
        for (const dt::AggEntry* entry : columns)
            if (entry != nullptr && key_ == nullptr)
                key_ = entry;
        add(*key_);
        for (std::size_t i = 0; i < columns.size(); i++)
            add(columns[i] != nullptr ? *columns[i] : nothing_counted(*descs[i]));
    }

    // Calls the callback with the row. Returns false to end the walk.
    bool show_to(dtrace_aggregate_walk_joined_f* func, void* arg)
    {
        int said = func(shown_.data(), static_cast<int>(shown_.size()), arg);
        for (std::size_t i = 0; i < columns_.size(); i++) {
            // An entry can be in two columns. It obeys one verdict only, which may
            // remove it.
            const auto before = columns_.begin() + static_cast<std::ptrdiff_t>(i);
            if (columns_[i] == nullptr ||
                std::find(columns_.begin(), before, columns_[i]) != before)
                continue;
            auto verdict = verdict_of(session_, said, *shown_[i + 1], *columns_[i]);
            if (!session_.state().consumer->aggregates().obey(*columns_[i], verdict))
                return false;
        }
        return true;
    }

private:
    void add(const dt::AggEntry& entry)
    {
        shown_.push_back(&views_.emplace_back(session_, entry).data);
    }

    const dt::AggEntry& nothing_counted(const dt::AggDesc& agg)
    {
        dt::AggEntry& entry = zeros_.emplace_back();
        entry.agg = &agg;
        entry.bytes.assign(key_->key().begin(), key_->key().end());
        entry.bytes.resize(agg.key_bytes);
        auto zero = dt::zero_value(agg.function, agg.arg, agg.value_bytes);
        entry.bytes.insert(entry.bytes.end(), zero.begin(), zero.end());
        entry.places = session_.state().consumer->aggregates().zero_places(agg);
        return entry;
    }

    dtrace_hdl& session_;
    const std::vector<dt::AggEntry*>& columns_;
    const dt::AggEntry* key_ = nullptr;
    std::deque<dt::AggEntry> zeros_;
    std::deque<AggView> views_;
    std::vector<const dtrace_aggdata_t*> shown_;
};

} // namespace

extern "C" {

int dtrace_aggregate_snap(dtrace_hdl_t* dtp)
{
    if (!dtp->state().consumer)
        return dtp->fail(EINVAL);
    auto done = dtp->state().consumer->snapshot();
    return done ? 0 : dtp->fail(done.error());
}

int dtrace_aggregate_walk(dtrace_hdl_t* dtp, dtrace_aggregate_f* func, void* arg)
{
    return walk(*dtp, func, arg, dt::AggOrder::Unsorted, false);
}

int dtrace_aggregate_walk_sorted(dtrace_hdl_t* dtp, dtrace_aggregate_f* func, void* arg)
{
    return walk(*dtp, func, arg, dt::AggOrder::ByOption, false);
}

int dtrace_aggregate_walk_keysorted(dtrace_hdl_t* dtp, dtrace_aggregate_f* func,
                                    void* arg)
{
    return walk(*dtp, func, arg, dt::AggOrder::Key, false);
}

int dtrace_aggregate_walk_valsorted(dtrace_hdl_t* dtp, dtrace_aggregate_f* func,
                                    void* arg)
{
    return walk(*dtp, func, arg, dt::AggOrder::Value, false);
}

int dtrace_aggregate_walk_keyrevsorted(dtrace_hdl_t* dtp, dtrace_aggregate_f* func,
                                       void* arg)
{
    return walk(*dtp, func, arg, dt::AggOrder::Key, true);
}

int dtrace_aggregate_walk_valrevsorted(dtrace_hdl_t* dtp, dtrace_aggregate_f* func,
                                       void* arg)
{
    return walk(*dtp, func, arg, dt::AggOrder::Value, true);
}

int dtrace_aggregate_walk_keyvarsorted(dtrace_hdl_t* dtp, dtrace_aggregate_f* func,
                                       void* arg)
{
    return walk(*dtp, func, arg, dt::AggOrder::KeyVariable, false);
}

int dtrace_aggregate_walk_valvarsorted(dtrace_hdl_t* dtp, dtrace_aggregate_f* func,
                                       void* arg)
{
    return walk(*dtp, func, arg, dt::AggOrder::ValueVariable, false);
}

int dtrace_aggregate_walk_keyvarrevsorted(dtrace_hdl_t* dtp, dtrace_aggregate_f* func,
                                          void* arg)
{
    return walk(*dtp, func, arg, dt::AggOrder::KeyVariable, true);
}

int dtrace_aggregate_walk_valvarrevsorted(dtrace_hdl_t* dtp, dtrace_aggregate_f* func,
                                          void* arg)
{
    return walk(*dtp, func, arg, dt::AggOrder::ValueVariable, true);
}

int dtrace_aggregate_walk_joined(dtrace_hdl_t* dtp, const dtrace_aggvarid_t* ids,
                                 int n_ids, dtrace_aggregate_walk_joined_f* func,
                                 void* arg)
{
    if (!dtp->state().consumer || n_ids < 1)
        return dtp->fail(EINVAL);
    dt::Aggregates& aggregates = dtp->state().consumer->aggregates();
    std::vector<std::uint32_t> variables;
    std::vector<const dt::AggDesc*> descs;
    for (int i = 0; i < n_ids; i++) {
        variables.push_back(static_cast<std::uint32_t>(ids[i]));
        descs.push_back(aggregates.find(variables.back()));
        if (descs.back() == nullptr || ids[i] != variables.back())
            return dtp->fail(EDT_BADAGGVAR);
    }
    for (const auto& columns :
         aggregates.joined(variables, dtp->state().consumer->display()))
        if (!Row(*dtp, columns, descs).show_to(func, arg))
            return -1;
    return 0;
}

int dtrace_aggregate_print(dtrace_hdl_t* dtp, FILE* fp, dtrace_aggregate_walk_f*)
{
    if (!dtp->state().consumer)
        return dtp->fail(EINVAL);
    dt::Output* out = dtp->output_to(fp);
    if (out == nullptr)
        return -1;
    if (auto printed = dtp->state().consumer->print_aggregations(*out); !printed)
        return dtp->fail(printed.error());
    auto flushed = out->flush();
    return flushed ? 0 : dtp->fail(flushed.error());
}

void dtrace_aggregate_clear(dtrace_hdl_t* dtp)
{
    if (dtp->state().consumer)
        dtp->state().consumer->aggregates().clear_all();
}

} // extern "C"
