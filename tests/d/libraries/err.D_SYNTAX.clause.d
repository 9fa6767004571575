/*
 * A library says what names mean, it traces nothing.
 * @flags: -L clause
 */
BEGIN { exit(0); }
