/*
 * freopen refuses the file name ".".
 * @flags: -w
 */
BEGIN { freopen("."); }
