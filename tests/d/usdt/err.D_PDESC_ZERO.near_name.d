/*
 * A name that no static probe has is told with those that are near.
 * @command: kinds 1
 * @replace: (kin[a-z]+)[0-9]+ -> \1N
 */
kinds$target:::smal
{
}
