// Package attacks does to the operator, on a real cluster, what a hostile tenant would, and
// counts what succeeds (build tag attacks; make test-attacks).
//
// The tenant is a ServiceAccount with the ClusterRole edit in a namespace of its own, to
// which the chart adds StorageBenchmarks; its requests carry that account's token. It can
// create Pods, read its Secrets, and change or delete every object in its namespace, those
// of the operator included. What it must not be able to do:
//
//   - take the operator down, or keep it from others' benchmarks;
//   - hold a node for longer than its benchmark's timeout, or by benchmarks that cannot run;
//   - change settings of a node that no TunablePolicy permits, or leave any changed;
//   - read or write outside its targets, reach credentials, or learn others' names;
//   - get privileges by way of the operator;
//   - make the operator replace or delete what is not the operator's.
//
// A test is an attack, or a table of them:
//
//	t.Parallel()
//	a := begin(t, "what the tenant tries")
//	m := a.tenant("restricted")
//	a.control("the same works without the defence", …)
//	a.refused(m.api.Create(…), "what the message must say")
//
// It counts when it is over, once, and a.succeeded says that it worked. Where it can be
// had, a control shows that the attack is one: the same request by somebody whom the defence
// lets through, or the same program without it. The tests whose names begin with TestRequest
// or TestToken only send requests and take seconds; CI runs those and a few more (ATTACKS=quick).
//
// Tests wait for conditions, use a node each (m.node), and leave nothing behind.
package attacks
