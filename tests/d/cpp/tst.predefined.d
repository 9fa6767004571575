/*
 * A program can ask whether it is D, which D, and on what.
 * @flags: -qC
 */
#if defined(__SUNW_D) && __SUNW_D_VERSION >= 0x01000000 && defined(__Linux) && defined(__GNUC__)
BEGIN { printf("D of at least 1.0 on Linux\n"); exit(0); }
#endif
