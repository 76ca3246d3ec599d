# The guest's way into the cluster: a tap device on the bridge of the nodes'
# addresses, and a route to its Pods. Both vanish with the bridge, too.
# shellcheck shell=bash disable=SC2153  # some variables belong to other parts

guest_network_up() {
  modprobe -q tun 2>/dev/null || true
  [ -e /dev/net/tun ] || die "the kernel has no tap devices (/dev/net/tun is missing; CONFIG_TUN)"
  ip link show "$GUEST_TAP" >/dev/null 2>&1 || ip tuntap add dev "$GUEST_TAP" mode tap
  ip link set dev "$GUEST_TAP" alias "$LINK_ALIAS"
  ip link set dev "$GUEST_TAP" master "$HOST_BRIDGE" up
  ip route replace "$GUEST_PODS.0/24" via "$GUEST_ADDRESS" dev "$HOST_BRIDGE"
}

guest_links() { our_links | grep -Fx "$GUEST_TAP" || true; }
guest_routes() { ip -4 route show "$GUEST_PODS.0/24" via "$GUEST_ADDRESS" 2>/dev/null; }

guest_network_down() {
  [ -z "$(guest_links)" ] || ip link delete "$GUEST_TAP"
  [ -z "$(guest_routes)" ] || ip route delete "$GUEST_PODS.0/24" via "$GUEST_ADDRESS"
}
