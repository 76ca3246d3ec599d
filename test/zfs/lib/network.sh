# The guest's way into the cluster: a tap device, with routes to the guest and to its
# Pods. It is no port of the nodes' bridge, whose state would change with the guest's;
# this machine answers on it for the addresses that are on that bridge, which is what
# the guest sees as its network.
# shellcheck shell=bash disable=SC2153  # some variables belong to other parts

guest_network_up() {
  modprobe -q tun 2>/dev/null || true
  [ -e /dev/net/tun ] || die "the kernel has no tap devices (/dev/net/tun is missing; CONFIG_TUN)"
  ip link show "$GUEST_TAP" >/dev/null 2>&1 || ip tuntap add dev "$GUEST_TAP" mode tap
  # The alias is how clean-up knows that the interface was made here. Its routes go with it.
  ip link set dev "$GUEST_TAP" alias "$LINK_ALIAS" up
  ip route replace "$GUEST_ADDRESS/32" dev "$GUEST_TAP" src "$API_ADDRESS"
  ip route replace "$GUEST_PODS.0/24" via "$GUEST_ADDRESS" dev "$GUEST_TAP" src "$API_ADDRESS"
}

guest_links() { our_links | grep -Fx "$GUEST_TAP" || true; }

guest_network_down() { [ -z "$(guest_links)" ] || ip link delete "$GUEST_TAP"; }
