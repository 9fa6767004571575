/*
 * So is a provider.
 * @command: kinds 1
 * @replace: (kin[a-z]+)[0-9]+ -> \1N
 */
kines$target:::small
{
}
