/* args[] cannot be used if no probe matches, because their types depend on the probe.
 * @flags: -Z
 */
nowhere:::probe { trace(args[0]); }
