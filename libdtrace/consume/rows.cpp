// SPDX-License-Identifier: MIT
// Rows of dtrace(1): a header before the first record; CPU, ID and name before each
// record, and a newline after it; with flowindent, an indented function instead.
#include "base/printable.hpp"
#include "libdtrace/consume/consumer.hpp"
#include "libdtrace/consume/numbers.hpp"

namespace dt {

Verdict RowPrinter::probe(const ProbeData& data)
{
    std::string& out = out_.text();
    const ProbeName& probe = *data.probe;
    if (display_.flowindent) {
        if (!header_done_)
            out.append("CPU FUNCTION").append(41 - 8, ' ').push_back('\n');
        header_done_ = true;
        put_signed(out, data.cpu, 3);
        out.push_back(' ');
        std::string name(static_cast<std::size_t>(data.indent), ' ');
        name.append(data.prefix);
        append_printable(name, probe.function, Escaping::Names);
        if (data.flow == Flow::None)
            append_printable(name.append(":"), probe.name, Escaping::Names);
        put_left(out, name, 41);
        out.push_back(' ');
    } else if (!display_.quiet) {
        if (!header_done_)
            out.append("CPU     ID                    FUNCTION:NAME\n");
        header_done_ = true;
        put_signed(out, data.cpu, 3);
        out.push_back(' ');
        put_signed(out, probe.id, 6);
        out.push_back(' ');
        std::string name = printable(probe.function, Escaping::Names);
        append_printable(name.append(":"), probe.name, Escaping::Names);
        put_right(out, name, 32);
        out.push_back(' ');
    }
    return Verdict::This;
}

Verdict RowPrinter::record(const ProbeData&, const RecordDesc* desc)
{
    if (!desc && (!display_.quiet || display_.flowindent))
        out_.text().push_back('\n');
    return Verdict::This;
}

} // namespace dt
