/*
 * A probe description is refused if its probes are less stable than -x amin.
 * @flags: -x amin=Standard/Standard/Common
 */
dtrace:::BEGIN { exit(0); }
