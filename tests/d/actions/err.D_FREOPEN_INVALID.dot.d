/*
 * freopen takes no single dot.
 * @flags: -w
 */
BEGIN { freopen("."); }
