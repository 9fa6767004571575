/* args[] cannot be used if no probe matches yet, because the probes define its types.
 * @flags: -Z
 */
nowhere:::probe { trace(args[0]); }
