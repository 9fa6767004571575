/*
 * freopen does not accept the file name ".".
 * @flags: -w
 */
BEGIN { freopen("."); }
