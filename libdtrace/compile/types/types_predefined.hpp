// SPDX-License-Identifier: MIT
// The types that each new TypeTable contains. Sizes are those of LP64. The row of a
// typedef comes after the row of its base type.
#pragma once

// clang-format off
#define D_INTRINSIC_TYPES(X) /* X(name, kind, bytes, signed, character, boolean) */ \
    X("void",               Void,    0,  0, 0, 0) \
    X("char",               Integer, 1,  1, 1, 0) \
    X("signed char",        Integer, 1,  1, 1, 0) \
    X("unsigned char",      Integer, 1,  0, 1, 0) \
    X("short",              Integer, 2,  1, 0, 0) \
    X("unsigned short",     Integer, 2,  0, 0, 0) \
    X("int",                Integer, 4,  1, 0, 0) \
    X("unsigned int",       Integer, 4,  0, 0, 0) \
    X("long",               Integer, 8,  1, 0, 0) \
    X("unsigned long",      Integer, 8,  0, 0, 0) \
    X("long long",          Integer, 8,  1, 0, 0) \
    X("unsigned long long", Integer, 8,  0, 0, 0) \
    X("_Bool",              Integer, 1,  0, 0, 1) \
    X("float",              Float,   4,  1, 0, 0) \
    X("double",             Float,   8,  1, 0, 0) \
    X("long double",        Float,   16, 1, 0, 0)

#define D_PREDEFINED_TYPEDEFS(X) /* X(name, base) */ \
    X("int8_t",      "signed char")    X("uint8_t",      "unsigned char")      \
    X("int16_t",     "short")          X("uint16_t",     "unsigned short")     \
    X("int32_t",     "int")            X("uint32_t",     "unsigned int")       \
    X("int64_t",     "long")           X("uint64_t",     "unsigned long")      \
    X("intptr_t",    "long")           X("uintptr_t",    "unsigned long")      \
    X("intmax_t",    "long")           X("uintmax_t",    "unsigned long")      \
    X("ptrdiff_t",   "long")           X("wchar_t",      "int")                \
    X("size_t",      "unsigned long")  X("ssize_t",      "long")               \
    X("uchar_t",     "unsigned char")  X("ushort_t",     "unsigned short")     \
    X("uint_t",      "unsigned int")   X("ulong_t",      "unsigned long")      \
    X("longlong_t",  "long long")      X("u_longlong_t", "unsigned long long") \
    X("u_char",      "unsigned char")  X("u_short",      "unsigned short")     \
    X("u_int",       "unsigned int")   X("u_long",       "unsigned long")      \
    X("u_int8_t",    "unsigned char")  X("u_int16_t",    "unsigned short")     \
    X("u_int32_t",   "unsigned int")   X("u_int64_t",    "unsigned long")      \
    X("ushort",      "unsigned short") X("uint",         "unsigned int")       \
    X("ulong",       "unsigned long")  X("bool",         "_Bool")              \
    X("__s8",        "signed char")    X("__u8",         "unsigned char")      \
    X("__s16",       "short")          X("__u16",        "unsigned short")     \
    X("__s32",       "int")            X("__u32",        "unsigned int")       \
    X("__s64",       "long long")      X("__u64",        "unsigned long long") \
    X("s8",          "__s8")           X("u8",           "__u8")               \
    X("s16",         "__s16")          X("u16",          "__u16")              \
    X("s32",         "__s32")          X("u32",          "__u32")              \
    X("s64",         "__s64")          X("u64",          "__u64")              \
    X("__be16",      "__u16")          X("__be32",       "__u32")              \
    X("__be64",      "__u64")          X("__le16",       "__u16")              \
    X("__le32",      "__u32")          X("__le64",       "__u64")              \
    X("id_t",        "int")            X("pid_t",        "int")                \
    X("uid_t",       "unsigned int")   X("gid_t",        "unsigned int")       \
    X("zoneid_t",    "int")            X("projid_t",     "int")                \
    X("taskid_t",    "int")            X("poolid_t",     "int")                \
    X("processorid_t", "int")          X("psetid_t",     "int")                \
    X("chipid_t",    "int")            X("lgrp_id_t",    "int")                \
    X("lwpid_t",     "int")            X("clockid_t",    "int")                \
    X("hrtime_t",    "long long")      X("time_t",       "long")               \
    X("clock_t",     "long")           X("suseconds_t",  "long")               \
    X("off_t",       "long")           X("loff_t",       "long long")          \
    X("offset_t",    "long long")      X("dev_t",        "unsigned long")      \
    X("ino_t",       "unsigned long")  X("mode_t",       "unsigned int")       \
    X("nlink_t",     "unsigned long")  X("blksize_t",    "long")               \
    X("blkcnt_t",    "long")           X("key_t",        "int")                \
    X("major_t",     "unsigned int")   X("minor_t",      "unsigned int")       \
    X("caddr_t",     "char *")         X("pc_t",         "unsigned long")      \
    X("greg_t",      "long long")      X("model_t",      "unsigned int")       \
    X("pri_t",       "short")          X("stdbool_t",    "int")                \
    X("boolean_t",   "int")            X("useconds_t",   "unsigned int")       \
    X("size32_t",    "unsigned int")   X("caddr32_t",    "unsigned int")       \
    X("ipaddr_t",    "unsigned int")   X("in_addr_t",    "unsigned int")       \
    X("in_port_t",   "unsigned short") X("sa_family_t",  "unsigned short")     \
    X("socklen_t",   "unsigned int")   X("pthread_t",    "unsigned long")      \
    X("_Float32",    "float")          X("_Float32x",    "double")             \
    X("_Float64",    "double")         X("_Float64x",    "long double")        \
    X("__float80",   "long double")

// Types that are built into GCC, so no header declares them. In D, each of them is a
// structure that contains only bytes.
#define D_OPAQUE_TYPES(X) /* X(name, bytes, alignment) */ \
    X("__int128", 16, 16)    X("unsigned __int128", 16, 16) \
    X("__int128_t", 16, 16)  X("__uint128_t", 16, 16)       \
    X("_Float128", 16, 16)   X("__float128", 16, 16)        \
    X("_Float16", 2, 2)      X("__bf16", 2, 2)              \
    X("_Decimal32", 4, 4)    X("_Decimal64", 8, 8)          \
    X("_Decimal128", 16, 16) X("__builtin_va_list", sizeof(va_list), 8)

// The members of psinfo_t, lwpsinfo_t and fileinfo_t. The checker replaces each member
// of curpsinfo, curlwpsinfo or fds[n] with the builtin that computes it.
#define D_PSINFO_MEMBERS(X) /* X(type, name) */ \
    X("int", pr_nlwp) X("pid_t", pr_pid) X("pid_t", pr_ppid) X("pid_t", pr_pgid) \
    X("pid_t", pr_sid) X("uid_t", pr_uid) X("uid_t", pr_euid) X("gid_t", pr_gid) \
    X("gid_t", pr_egid) X("uintptr_t", pr_addr) X("dev_t", pr_ttydev) \
    X("string", pr_fname) X("string", pr_psargs) X("int", pr_wstat) X("int", pr_argc) \
    X("uintptr_t", pr_argv) X("uintptr_t", pr_envp) X("char", pr_dmodel) \
    X("taskid_t", pr_taskid) X("projid_t", pr_projid) X("poolid_t", pr_poolid) \
    X("zoneid_t", pr_zoneid)

#define D_LWPSINFO_MEMBERS(X) /* X(type, name) */ \
    X("int", pr_flag) X("id_t", pr_lwpid) X("uintptr_t", pr_addr) X("uintptr_t", pr_wchan) \
    X("char", pr_stype) X("char", pr_state) X("char", pr_sname) X("char", pr_nice) \
    X("short", pr_syscall) X("int", pr_pri) X("string", pr_clname) X("string", pr_name) \
    X("processorid_t", pr_onpro) X("processorid_t", pr_bindpro) X("psetid_t", pr_bindpset)

#define D_FILEINFO_MEMBERS(X) /* X(type, name) */ \
    X("string", fi_name) X("string", fi_dirname) X("string", fi_pathname) \
    X("offset_t", fi_offset) X("string", fi_fs) X("string", fi_mount) X("int", fi_oflags)
// clang-format on

namespace dt {

class TypeTable;

// TypeTable's constructor calls this once, after it has added the intrinsic types.
void declare_predefined_types(TypeTable& types);

} // namespace dt
