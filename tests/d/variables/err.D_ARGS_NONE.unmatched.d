/* What args[] is depends on the probes, which are not there yet.
 * @flags: -Z
 */
nowhere:::probe { trace(args[0]); }
