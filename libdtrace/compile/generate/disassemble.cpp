// SPDX-License-Identifier: MIT
// Disassembles a DIF object in the format of dtrace -S. Other programs read this
// output, so the format is that of classic DTrace: a header, one row per instruction,
// and the table of variables. A comment after two tabs explains an index into a table.
#include "dif/engine.h"
#include "dif/ops.h"
#include "dif/subrs.h"
#include "dif/vars.h"
#include "libdtrace/compile/compiler.hpp"
#include "libdtrace/compile/generate/assembler.hpp"

#include <cinttypes>
#include <cstdarg>
#include <cstdio>

namespace dt {

namespace {

__attribute__((format(printf, 1, 2))) std::string print(const char* format, ...)
{
    char small[256];
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = std::vsnprintf(small, sizeof small, format, args);
    va_end(args);
    std::string text(small, std::min<std::size_t>(length, sizeof small - 1));
    if (static_cast<std::size_t>(length) >= sizeof small) {
        text.resize(length + 1);
        std::vsnprintf(text.data(), text.size(), format, again);
        text.resize(length);
    }
    va_end(again);
    return text;
}

const char* ckind_name(unsigned ckind)
{
    static constexpr const char* names[] = {"unknown", "integer", "float",
                                            "pointer", "array",   "function",
                                            "struct",  "union",   "enum"};
    return ckind < std::size(names) ? names[ckind] : "?";
}

std::string type_name(const dif_type& type)
{
    std::string text = type.kind == DIF_TYPE_STRING ? "string" : "D type";
    text += print(" (%s)", ckind_name(type.ckind));
    if (type.flags & DIF_TF_BYREF)
        text += " by ref";
    if (type.flags & DIF_TF_BYUREF)
        text += " by user ref";
    return text + print(" (size %u)", type.size);
}

const char* subroutine_name(unsigned number)
{
    switch (number) {
#define X(name, number, prototype, where)                                              \
    case number:                                                                       \
        return #name;
        DIF_SUBRS(X)
#undef X
    }
    return "unknown subroutine";
}

// Quotes a string as in D source, so that each row stays on one line.
std::string quoted(std::string_view text)
{
    std::string out = "\"";
    for (char c : text) {
        if (c == '\n')
            out += "\\n";
        else if (c == '\t')
            out += "\\t";
        else if (c == '"' || c == '\\')
            out += {'\\', c};
        else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            out += print("\\%03o", static_cast<unsigned char>(c));
        else
            out += c;
    }
    return out + '"';
}

std::string_view string_at(const Difo& difo, std::size_t offset)
{
    if (offset >= difo.strs.size())
        return "<outside the table>";
    return difo.strs.c_str() + offset;
}

unsigned scope_of(unsigned op)
{
    switch (op) {
    case DIF_OP_LDTA:
    case DIF_OP_LDTS:
    case DIF_OP_STTS:
    case DIF_OP_LDTAA:
    case DIF_OP_LDTAAM:
    case DIF_OP_LDTSM:
    case DIF_OP_STTAA:
        return DIFV_SCOPE_THREAD;
    case DIF_OP_LDLS:
    case DIF_OP_STLS:
        return DIFV_SCOPE_LOCAL;
    default:
        return DIFV_SCOPE_GLOBAL;
    }
}

std::string variable_comment(const Difo& difo, unsigned op, unsigned id)
{
    for (const dif_varinfo& variable : difo.vars) {
        if (variable.id != id || variable.scope != scope_of(op))
            continue;
        std::string name(string_at(difo, variable.name));
        return print("\t\t! DT_VAR(%u) = \"%s\"", id, name.c_str());
    }
    return {};
}

std::string comment(const Difo& difo, std::uint32_t insn)
{
    unsigned op = DIF_INSTR_OP(insn), index = DIF_INSTR_IDX(insn);
    switch (operands_of(static_cast<dif_op>(op))) {
    case DIF_FMT_INT_RD:
        return index < difo.ints.size() ? print("\t\t! 0x%" PRIx64, difo.ints[index])
                                        : "\t\t! outside the table";
    case DIF_FMT_STR_RD:
        return "\t\t! " + quoted(string_at(difo, index));
    case DIF_FMT_VAR_RD:
    case DIF_FMT_RD_VAR:
        return variable_comment(difo, op, index);
    case DIF_FMT_VAR_R2_RD:
        return variable_comment(difo, op, DIF_INSTR_R1(insn));
    case DIF_FMT_SUBR_RD:
        return print("\t\t! %s", subroutine_name(index));
    case DIF_FMT_TUPLE:
        return print("\t\t! DT_TYPE(%u) = %s", DIF_INSTR_R1(insn),
                     DIF_INSTR_R1(insn) == DIF_TYPE_STRING ? "string" : "D type");
    default:
        return {};
    }
}

const char* scope_name(unsigned scope)
{
    static constexpr const char* names[] = {"glb", "thr", "loc"};
    return scope < std::size(names) ? names[scope] : "?";
}

const char* flag_names(unsigned flags)
{
    static constexpr const char* names[] = {"", "r", "w", "r/w"};
    return names[flags & (DIFV_F_REF | DIFV_F_MOD)];
}

} // namespace

std::string disassemble(const Difo& difo)
{
    std::string out = print("\nDIFO %p returns ", static_cast<const void*>(&difo));
    out += type_name(difo.rtype) + "\n";
    out += "OFF OPCODE      INSTRUCTION\n";
    for (std::size_t i = 0; i < difo.text.size(); i++) {
        char text[128] = "";
        dt_disasm(difo.text[i], text, sizeof text);
        out += print("%02zx: %08x    %s", i, difo.text[i], text);
        out += comment(difo, difo.text[i]) + "\n";
    }
    if (difo.vars.empty())
        return out;
    out += "\nNAME             ID   KND SCP FLAG TYPE\n";
    for (const dif_varinfo& variable : difo.vars) {
        std::string name(string_at(difo, variable.name));
        out += print("%-16s %-4x %-3s %-3s %-4s %s\n", name.c_str(), variable.id,
                     variable.kind == DIFV_KIND_ARRAY ? "arr" : "scl",
                     scope_name(variable.scope), flag_names(variable.flags),
                     type_name(variable.type).c_str());
    }
    return out;
}

} // namespace dt
