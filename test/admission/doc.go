// Package admission shows on a real API server what the admission policies of
// config/admission refuse (build tag integration). Every attack is made twice with the
// rights of the operator's token, or of a tenant's: before the policies are there, when it
// must succeed, and after, when it must be refused with the message of the rule that is
// meant. Objects as the operator makes them must pass both times.
package admission
