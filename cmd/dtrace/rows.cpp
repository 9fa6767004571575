// SPDX-License-Identifier: MIT
#include "rows.hpp"

#include "report.hpp"

#include <cstddef>
#include <string>

bool is_on(dtrace_hdl_t* session, const char* option)
{
    dtrace_optval_t value = 0;
    return dtrace_getopt(session, option, &value) == 0 && value != DTRACEOPT_UNSET &&
           value != 0;
}

void Rows::read_options()
{
    flowindent_ = is_on(session_, "flowindent");
    dtrace_optval_t format = 0; // 1 is the text format
    text_ = dtrace_getopt(session_, "format", &format) != 0 || format == 1;
}

void Rows::begin(const dtrace_probedata_t& data)
{
    has_row_ = text_;
    if (!has_row_)
        return;
    const bool quiet = is_on(session_, "quiet");
    const dtrace_probedesc_t* probe = data.dtpda_pdesc;
    if (flowindent_) {
        if (!header_done_)
            std::fprintf(out_, "%3s %-41s\n", "CPU", "FUNCTION");
        std::string row(static_cast<std::size_t>(data.dtpda_indent), ' ');
        row += data.dtpda_prefix;
        row += name_text(probe->dtpd_func);
        if (data.dtpda_flow == DTRACEFLOW_NONE)
            row += ":" + name_text(probe->dtpd_name);
        std::fprintf(out_, "%3d %-41s ", data.dtpda_cpu, row.c_str());
    } else if (!quiet) {
        if (!header_done_)
            std::fprintf(out_, "%3s %6s %32s\n", "CPU", "ID", "FUNCTION:NAME");
        std::string name =
            name_text(probe->dtpd_func) + ":" + name_text(probe->dtpd_name);
        std::fprintf(out_, "%3d %6u %32s ", data.dtpda_cpu, probe->dtpd_id,
                     name.c_str());
    }
    header_done_ = true;
    quiet_ = quiet;
}

void Rows::end()
{
    if (has_row_ && (!quiet_ || flowindent_))
        std::fputc('\n', out_);
}
