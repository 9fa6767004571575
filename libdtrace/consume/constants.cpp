// SPDX-License-Identifier: MIT
#include "libdtrace/consume/constants.hpp"

#include "dif/ops.h"
#include "libdtrace/consume/numbers.hpp"

namespace dt {

// Recognizes the code of a constant, which consists of a load and a ret.
std::optional<ConstantValue> constant_of(const Difo& difo)
{
    if (difo.text.size() != 2)
        return std::nullopt;
    const std::uint32_t set = difo.text[0], end = difo.text[1];
    const std::uint32_t rd = DIF_INSTR_RD(set);
    if (DIF_INSTR_OP(end) != DIF_OP_RET || DIF_INSTR_RD(end) != rd)
        return std::nullopt;
    const std::uint32_t index = DIF_INSTR_IDX(set);
    const bool is_string = difo.rtype.kind == DIF_TYPE_STRING;
    const bool is_address =
        is_string || (difo.rtype.flags & (DIF_TF_BYREF | DIF_TF_BYUREF)) != 0;
    switch (DIF_INSTR_OP(set)) {
    case DIF_OP_SETX:
        if (!is_address && index < difo.ints.size())
            return difo.ints[index];
        break;
    case DIF_OP_SETS:
        if (is_string && index < difo.strs.size())
            return std::string(difo.strs.c_str() + index);
        break;
    case DIF_OP_MOV:
        if (!is_address && set == DIF_INSTR(DIF_OP_MOV, 0, 0, rd))
            return std::uint64_t{0};
        break;
    default:
        break;
    }
    return std::nullopt;
}

bool holds_constants(std::span<const std::byte> record,
                     std::span<const RecordedConstant> constants)
{
    for (const RecordedConstant& constant : constants) {
        if (constant.offset > record.size() ||
            constant.size > record.size() - constant.offset)
            return false;
        const auto bytes = record.subspan(constant.offset, constant.size);
        if (const auto* word = std::get_if<std::uint64_t>(&constant.value)) {
            const std::uint64_t mask = bytes.size() < 8
                                           ? (std::uint64_t{1} << 8 * bytes.size()) - 1
                                           : ~std::uint64_t{0};
            if (load_unsigned(bytes) != (*word & mask))
                return false;
            continue;
        }
        // The engine truncates a string that is longer than its place in the record.
        std::string_view text = std::get<std::string>(constant.value);
        if (load_string(bytes) != text.substr(0, bytes.empty() ? 0 : bytes.size() - 1))
            return false;
    }
    return true;
}

} // namespace dt
