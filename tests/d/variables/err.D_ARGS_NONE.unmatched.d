/* The types of args[] depend on the probes, which do not exist yet.
 * @flags: -Z
 */
nowhere:::probe { trace(args[0]); }
