/*
 * A description that matches probes less stable than -x amin is refused.
 * @flags: -x amin=Standard/Standard/Common
 */
dtrace:::BEGIN { exit(0); }
