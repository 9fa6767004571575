/*
 * Predefined macros identify D, its version, the system and the compiler.
 * @flags: -qC
 */
#if defined(__SUNW_D) && __SUNW_D_VERSION >= 0x01000000 && defined(__Linux) && defined(__GNUC__)
BEGIN { printf("D of at least 1.0 on Linux\n"); exit(0); }
#endif
