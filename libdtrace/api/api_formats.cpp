// SPDX-License-Identifier: MIT
// C API: prints records with a format, for callbacks that print records themselves.
//
//   recs ──> RecordDesc ──FormatPlan──> text
//
// Records in EcbView::all already have RecordDescs. Other records are converted to
// RecordDescs without types, so their integers are printed as signed.
#include "libdtrace/api/views.hpp"

#include "dif/actions.h"
#include "libdtrace/consume/agg_print.hpp"
#include "libdtrace/consume/format_plan.hpp"
#include "libdtrace/consume/numbers.hpp"
#include "libdtrace/consume/typed.hpp"

#include <cstdlib>
#include <cstring>

namespace {

// The arguments of a call to one of the printing functions, converted to our types.
struct Printing {
    dtrace_hdl& session;
    std::span<const dtrace_recdesc_t> recs;
    std::span<const std::byte> bytes;
    // null if there is no format; in that case, printa() uses the default form
    const dt::Format* format = nullptr;
    dt::ProbeData probe;               // `ecb` is null if the probe is unknown
    std::vector<dt::RecordDesc> descs; // one for each element of recs

    dt::Piece piece() const
    {
        return {probe.ecb != nullptr ? &probe : nullptr,
                probe.ecb != nullptr ? own : nullptr};
    }
    dt::PrintContext context() const
    {
        return {session.state().processes, session.state().consumer->display()};
    }
    // the clause's description of recs[0]; null if the caller made the records
    const dt::RecordDesc* own = nullptr;
};

dt::RecordDesc desc_of(const dtrace_recdesc_t& from)
{
    dt::RecordDesc to;
    to.action = from.dtrd_action;
    to.size = from.dtrd_size;
    to.offset = from.dtrd_offset;
    to.arg = from.dtrd_arg;
    to.uarg = from.dtrd_uarg;
    return to;
}

void take_probe(Printing& to, const dtrace_probedata_t& data)
{
    auto known = to.session.views.find(data.dtpda_edesc->dtepd_epid);
    if (known == to.session.views.end() || known->second->ecb == nullptr)
        return;
    const EcbView& view = *known->second;
    to.probe.ecb = view.ecb;
    to.probe.probe = view.ecb->probe;
    to.probe.cpu = static_cast<std::uint32_t>(data.dtpda_cpu);
    to.probe.timestamp = data.dtpda_timestamp;
    to.probe.record = {reinterpret_cast<const std::byte*>(data.dtpda_data),
                       data.dtpda_edesc->dtepd_size};
    const dtrace_recdesc_t* first = to.recs.data();
    const dtrace_recdesc_t* all = view.all.data();
    if (first < all || first + to.recs.size() > all + view.all.size())
        return;
    const dt::RecordDesc* own =
        &view.ecb->records[static_cast<std::size_t>(first - all)];
    to.descs.assign(own, own + to.recs.size());
    to.own = own;
    if (to.format == nullptr && own->compiled->parsed)
        to.format = own->compiled->parsed.get();
}

std::optional<Printing> printing(dtrace_hdl& session, const void* format,
                                 const dtrace_probedata_t* data,
                                 const dtrace_recdesc_t* recs, uint_t n_recs,
                                 const void* buf, std::size_t len)
{
    if (!session.state().consumer || n_recs == 0) {
        session.fail(EINVAL);
        return std::nullopt;
    }
    Printing to{session,
                {recs, n_recs},
                {static_cast<const std::byte*>(buf), len},
                static_cast<const dt::Format*>(format),
                {},
                {}};
    if (data != nullptr)
        take_probe(to, *data);
    if (to.descs.empty())
        for (const dtrace_recdesc_t& rec : to.recs)
            to.descs.push_back(desc_of(rec));
    return to;
}

std::size_t n_values(const dt::Format& format)
{
    std::size_t n = 0;
    for (const dt::Conversion& one : format.conversions)
        if (!one.name.empty())
            n += 1 + (one.dynamic_width ? 1 : 0) + (one.dynamic_precision ? 1 : 0);
    return n;
}

// The output for a file. Uses the output that dtrace_work() or dtrace_freopen() created
// for the file, if there is one. Otherwise creates an output for this call.
class To {
public:
    To(dtrace_hdl& session, FILE* file) : session_(session)
    {
        auto kept = session.reopened.find(file);
        if (session.out && session.out_file == file)
            to_ = session.out.get();
        else if (kept != session.reopened.end())
            to_ = kept->second.get();
        else if ((own_ = session.make_output(file)))
            to_ = own_.get();
    }
    explicit operator bool() const { return to_ != nullptr; }
    dt::Output& operator*() const { return *to_; }
    int end(const dt::Result<dt::Ok>& printed, const dt::Piece& piece,
            std::size_t n_used)
    {
        auto committed = to_->commit(piece);
        if (!printed)
            return session_.fail(printed.error());
        return committed ? static_cast<int>(n_used) : session_.fail(committed.error());
    }
    std::unique_ptr<dt::Output>& own() { return own_; }

private:
    dtrace_hdl& session_;
    std::unique_ptr<dt::Output> own_;
    dt::Output* to_ = nullptr;
};

void* keep_format(dtrace_hdl& session, const char* text)
{
    // D refuses an empty format, but dtrace_freopen() needs it to restore the output.
    auto parsed = *text == '\0' ? dt::Format{} : dt::parse_format(text);
    if (!parsed) {
        session.fail(EDT_COMPILER, std::string("malformed format \"") + text + "\"");
        return nullptr;
    }
    session.formats.push_back(std::make_unique<dt::Format>(std::move(*parsed)));
    return session.formats.back().get();
}

// Checks that there is a format and that there are enough records. Returns the number
// of records that the format uses, at least 1. On failure, calls fail() and returns -1.
int values_of(const Printing& to)
{
    if (to.format == nullptr)
        return to.session.fail(EINVAL, "the record has no format string");
    const std::size_t n = n_values(*to.format);
    if (n > to.descs.size())
        return to.session.fail(EDT_DMISMATCH);
    return static_cast<int>(std::max<std::size_t>(n, 1));
}

std::string text_of(const Printing& to)
{
    std::string text;
    dt::FormatPlan(*to.format, to.descs).print(text, to.context(), to.bytes);
    return text;
}

} // namespace

extern "C" {

void* dtrace_printf_create(dtrace_hdl_t* dtp, const char* format)
{
    return keep_format(*dtp, format);
}

void* dtrace_printa_create(dtrace_hdl_t* dtp, const char* format)
{
    return keep_format(*dtp, format);
}

size_t dtrace_printf_format(dtrace_hdl_t*, void* format, char* to, size_t len)
{
    const std::string& text = static_cast<const dt::Format*>(format)->text;
    std::snprintf(to, len, "%s", text.c_str());
    return text.size() + 1;
}

int dtrace_fprintf(dtrace_hdl_t* dtp, FILE* fp, void* format,
                   const dtrace_probedata_t* data, const dtrace_recdesc_t* recs,
                   uint_t n_recs, const void* buf, size_t len)
{
    auto to = printing(*dtp, format, data, recs, n_recs, buf, len);
    const int n = to ? values_of(*to) : -1;
    if (n < 0)
        return -1;
    To out(*dtp, fp);
    if (!out)
        return -1;
    dt::FormatPlan plan(*to->format, to->descs);
    if ((*out).wants_pieces())
        return out.end(
            plan.print_pieces(*out, to->context(), to->bytes, to->piece(), {}),
            to->piece(), static_cast<std::size_t>(n));
    plan.print((*out).text(), to->context(), to->bytes);
    return out.end(dt::Ok{}, to->piece(), static_cast<std::size_t>(n));
}

int dtrace_fprinta(dtrace_hdl_t* dtp, FILE* fp, void* format,
                   const dtrace_probedata_t* data, const dtrace_recdesc_t* recs,
                   uint_t n_recs, const void* buf, size_t len)
{
    auto to = printing(*dtp, format, data, recs, n_recs, buf, len);
    if (!to)
        return -1;
    std::vector<std::uint32_t> ids;
    for (const dt::RecordDesc& desc : to->descs) {
        if (desc.action != DTRACEACT_PRINTA)
            break;
        if (std::uint64_t{desc.offset} + desc.size > len)
            return dtp->fail(EDT_DMISMATCH);
        ids.push_back(static_cast<std::uint32_t>(
            dt::load_unsigned(to->bytes.subspan(desc.offset, desc.size))));
        if (dt::AggDesc* agg = dtp->state().consumer->aggregates().find(ids.back()))
            agg->printed = true;
        if (to->own != nullptr && ids.size() == to->own->n_values)
            break;
    }
    if (ids.empty())
        return dtp->fail(EDT_DMISMATCH);
    To out(*dtp, fp);
    if (!out)
        return -1;
    auto printed =
        dt::print_joined(*out, to->context(), dtp->state().consumer->aggregates(), ids,
                         to->format, to->piece());
    return out.end(printed, to->piece(), ids.size());
}

int dtrace_system(dtrace_hdl_t* dtp, FILE* fp, void* format,
                  const dtrace_probedata_t* data, const dtrace_recdesc_t* recs,
                  uint_t n_recs, const void* buf, size_t len)
{
    auto to = printing(*dtp, format, data, recs, n_recs, buf, len);
    const int n = to ? values_of(*to) : -1;
    if (n < 0)
        return -1;
    if (fp != nullptr)
        std::fflush(fp);
    if (dtp->run_command(text_of(*to)) == -1)
        return dtp->fail(errno);
    return n;
}

int dtrace_freopen(dtrace_hdl_t* dtp, FILE* fp, void* format,
                   const dtrace_probedata_t* data, const dtrace_recdesc_t* recs,
                   uint_t n_recs, const void* buf, size_t len)
{
    auto to = printing(*dtp, format, data, recs, n_recs, buf, len);
    const bool back = to && to->format == nullptr && to->own != nullptr &&
                      to->own->action == DTRACEACT_FREOPEN; // freopen("") has no format
    const int n = back ? 1 : to ? values_of(*to) : -1;
    if (n < 0)
        return -1;
    To out(*dtp, fp);
    if (!out)
        return -1;
    auto opened = (*out).reopen(back ? "" : text_of(*to));
    if (!opened)
        return dtp->fail(opened.error());
    if (out.own()) // keep the new output, which is needed to restore the original file
        dtp->reopened[fp] = std::move(out.own());
    return n;
}

int dtrace_print(dtrace_hdl_t* dtp, FILE* fp, const char* type_name, const void* data,
                 size_t len)
{
    dtrace_typeinfo_t info{};
    if (dtrace_lookup_by_type(dtp, DTRACE_OBJ_EVERY, type_name, &info) != 0)
        return -1;
    const auto* type = reinterpret_cast<const dt::Type*>(info.dtt_type);
    if (len < type->resolve()->size)
        return dtp->fail(EDT_DMISMATCH, "the data is shorter than its type");
    To out(*dtp, fp);
    if (!out)
        return -1;
    dt::put_typed((*out).text(), type, {static_cast<const std::byte*>(data), len});
    return out.end(dt::Ok{}, {}, 0);
}

} // extern "C"
