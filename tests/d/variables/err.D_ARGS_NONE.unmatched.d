/* args[] cannot be used if no probe matches yet, because a probe defines the types of args[].
 * @flags: -Z
 */
nowhere:::probe { trace(args[0]); }
