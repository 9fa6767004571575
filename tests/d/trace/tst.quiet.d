/*
 * In quiet mode, trace prints values without padding.
 * @flags: -q
 */
BEGIN { trace(1); trace("a"); trace((char)2); trace("b c"); trace((long)-3); exit(0); }
