/*
 * profile-97 is accepted as a probe.
 * @flags: -q
 */
profile-97 { x = 1; }
BEGIN { printf("on\n"); exit(0); }
