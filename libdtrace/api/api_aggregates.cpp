// SPDX-License-Identifier: MIT
// C API: snapshots, walks and printing of aggregations.
#include "libdtrace/api/views.hpp"

namespace {

int walk(dtrace_hdl& session, dtrace_aggregate_f* func, void* arg, dt::AggOrder order,
         bool reverse)
{
    if (!session.consumer)
        return session.fail(EINVAL);
    bool refused = false;
    bool complete = session.consumer->aggregates().walk(
        0, order, session.consumer->display(), reverse, [&](dt::AggEntry& entry) {
            std::vector<dtrace_recdesc_t> keys;
            for (const dt::RecordDesc& part : entry.agg->parts) {
                dtrace_recdesc_t key{};
                key.dtrd_action = static_cast<dtrace_actkind_t>(part.action);
                key.dtrd_size = part.size;
                key.dtrd_offset = part.offset;
                key.dtrd_alignment = static_cast<std::uint16_t>(
                    part.size >= 8 || part.size == 0 ? 8 : part.size);
                key.dtrd_arg = part.arg;
                keys.push_back(key);
            }
            std::vector<std::int64_t> words;
            for (std::size_t i = 0; i < entry.n_words(); i++)
                words.push_back(entry.word(i));
            dtrace_aggdata_t data{};
            data.dtada_handle = &session;
            data.dtada_name = entry.agg->name.c_str();
            data.dtada_varid = entry.agg->id;
            data.dtada_function = entry.agg->function;
            data.dtada_keys = keys.data();
            data.dtada_nkeys = static_cast<int>(keys.size());
            data.dtada_key = reinterpret_cast<const char*>(entry.key().data());
            data.dtada_keysize = entry.agg->key_bytes;
            data.dtada_value = words.data();
            data.dtada_valuesize = entry.agg->value_bytes;
            data.dtada_normal = static_cast<std::int64_t>(entry.normal);
            int verdict = func(&data, arg);
            if (verdict < DTRACE_AGGWALK_ERROR || verdict > DTRACE_AGGWALK_REMOVE) {
                session.fail(EDT_BADRVAL);
                refused = true;
                return dt::AggVerdict::Error;
            }
            return static_cast<dt::AggVerdict>(verdict);
        });
    if (refused)
        return -1;
    return complete ? 0 : session.fail(EDT_DIRABORT);
}

} // namespace

extern "C" {

int dtrace_aggregate_snap(dtrace_hdl_t* dtp)
{
    if (!dtp->consumer)
        return dtp->fail(EINVAL);
    auto done = dtp->consumer->snapshot();
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

int dtrace_aggregate_print(dtrace_hdl_t* dtp, FILE* fp, dtrace_aggregate_walk_f*)
{
    if (!dtp->consumer)
        return dtp->fail(EINVAL);
    dt::Output* out = dtp->output_to(fp);
    if (out == nullptr)
        return -1;
    if (auto printed = dtp->consumer->print_aggregations(*out); !printed)
        return dtp->fail(printed.error());
    auto flushed = out->flush();
    return flushed ? 0 : dtp->fail(flushed.error());
}

void dtrace_aggregate_clear(dtrace_hdl_t* dtp)
{
    if (dtp->consumer)
        dtp->consumer->aggregates().clear_all();
}

} // extern "C"
