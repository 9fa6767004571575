// SPDX-License-Identifier: MIT
// Texts for error numbers, faults and subroutines.
#include "base/printable.hpp"
#include "dif/faults.h"
#include "dif/subrs.h"
#include "libdtrace/api/handle.hpp"

#include <algorithm>
#include <cstring>

const char* _dtrace_version = "Sun D 1.13";

namespace {

struct ErrorText {
    int number;
    const char* text;
};

constexpr ErrorText error_texts[] = {
    {EDT_VERSION, "Client requested version newer than library"},
    {EDT_VERSINVAL, "Version is not properly formatted or is too large"},
    {EDT_VERSUNDEF, "Requested version is not supported by compiler"},
    {EDT_VERSREDUCED, "Requested version conflicts with earlier setting"},
    {EDT_COMPILER, "Program could not be compiled"},
    {EDT_NOMEM, "Memory allocation failure"},
    {EDT_NOMOD, "No such module"},
    {EDT_NOPROV, "No provider with that name"},
    {EDT_NOPROBE, "No probe matches description"},
    {EDT_NOSYM, "No symbolic information available"},
    {EDT_NOSYMADDR, "Unknown symbol name"},
    {EDT_NOTYPE, "Unknown type name"},
    {EDT_NOVAR, "Unknown variable name"},
    {EDT_NOAGG, "Unknown aggregation name"},
    {EDT_BADSPEC, "Overspecified probe description"},
    {EDT_BADSPCV, "Undefined macro variable in probe description"},
    {EDT_BADID, "Unknown probe identifier"},
    {EDT_NOCTF, "No type data"},
    {EDT_FIO, "Failed to read file"},
    {EDT_DIFINVAL, "DIF program content is invalid"},
    {EDT_BADPGLOB, "Invalid glob in probe description"},
    {EDT_DMISMATCH, "Records do not match their format"},
    {EDT_BADOPTNAME, "Invalid option name"},
    {EDT_BADOPTVAL, "Invalid value for specified option"},
    {EDT_BADOPTCTX, "Option cannot be used from within a D program"},
    {EDT_ACTIVE, "Operation illegal when tracing is active"},
    {EDT_DESTRUCTIVE, "Destructive actions not allowed"},
    {EDT_NOANON, "No anonymous tracing state"},
    {EDT_ISANON, "Can't claim anonymous state and enable probes"},
    {EDT_ENDTOOBIG, "END enablings exceed size of principal buffer"},
    {EDT_ERRABORT, "Abort due to error"},
    {EDT_DROPABORT, "Abort due to drop"},
    {EDT_DIRABORT, "Abort explicitly directed"},
    {EDT_BADRVAL, "Illegal return value from callback"},
    {EDT_BUFTOOSMALL, "Enabling exceeds size of buffer"},
    {EDT_BUSY, "Target is traced by another debugger"},
    {EDT_ACCESS, "Not permitted to trace the target"},
    {EDT_NOENT, "No such file or process"},
    {EDT_BRICKED, "Abort due to systemic unresponsiveness"},
    {EDT_NOBUFFERED, "Attempt to buffer output without handler"},
    {EDT_ENABLING_ERR, "Failed to enable probe"},
    {EDT_NOPROBES, "No probes are enabled"},
};

} // namespace

extern "C" {

int dtrace_errno(dtrace_hdl_t* dtp)
{
    return dtp->state().error;
}

const char* dtrace_errmsg(dtrace_hdl_t* dtp, int error)
{
    if (dtp != nullptr && error == dtp->state().error &&
        !dtp->state().error_text.empty())
        return dtp->state().error_text.c_str();
    for (const ErrorText& row : error_texts)
        if (row.number == error)
            return row.text;
    if (error > 0 && error < EDT_BASE)
        return std::strerror(error);
    return "Unknown error";
}

const char* dtrace_errquote(dtrace_hdl_t* dtp)
{
    return dtp->state().error_quote.c_str();
}

size_t dtrace_printable(const char* text, int is_name, char* to, size_t size)
{
    const std::string escaped =
        dt::printable(text, is_name != 0 ? dt::Escaping::Names : dt::Escaping::Strings);
    if (size != 0) {
        const std::size_t n = std::min(escaped.size(), size - 1);
        std::memcpy(to, escaped.data(), n);
        to[n] = '\0';
    }
    return escaped.size();
}

const char* dtrace_faultstr(dtrace_hdl_t*, int fault)
{
    switch (fault) {
#define X(name, number, text, addr)                                                    \
    case number:                                                                       \
        return text;
        DIF_FAULTS(X)
#undef X
    default:
        return "unknown fault";
    }
}

const char* dtrace_subrstr(dtrace_hdl_t*, int subr)
{
    switch (subr) {
#define X(name, number, prototype, where)                                              \
    case number:                                                                       \
        return #name;
        DIF_SUBRS(X)
#undef X
    default:
        return "unknown subroutine";
    }
}

} // extern "C"
