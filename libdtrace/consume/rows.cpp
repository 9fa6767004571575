// SPDX-License-Identifier: MIT
// Rows of dtrace(1): the header before the first record, CPU, ID and name before each,
// a newline after each; with flowindent an indented function instead.
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
        name.append(data.prefix).append(probe.function);
        if (data.flow == Flow::None)
            name.append(":").append(probe.name);
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
        std::size_t length = probe.function.size() + 1 + probe.name.size();
        if (length < 32)
            out.append(32 - length, ' ');
        out.append(probe.function).append(":").append(probe.name).push_back(' ');
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
