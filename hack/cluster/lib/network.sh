# One bridge for the API server and the nodes' addresses, one a node for its
# Pods. Everything is routed on this machine; nothing is bound to its own
# interfaces, and Pods have no way out.
# shellcheck shell=bash

network_up() {
  local node
  check_addresses_free
  ip_bridge "$HOST_BRIDGE" "$API_ADDRESS/24"
  for node in "${NODES[@]}"; do node_network "$node"; done
  # What no rule or narrower route takes must not leave by the machine's default
  # route; and a machine without one reaches Services all the same.
  ip route replace "$SERVICE_NETWORK" dev "$HOST_BRIDGE" src "$API_ADDRESS"
  ip route replace "$POD_NETWORK" dev "$HOST_BRIDGE" src "$API_ADDRESS"
  remember_sysctls
  sysctl -qw net.ipv4.ip_forward=1
  # Replies between two Pods of one bridge must pass the rules that undo a
  # Service's address.
  [ ! -e /proc/sys/net/bridge/bridge-nf-call-iptables ] || sysctl -qw net.bridge.bridge-nf-call-iptables=1
  allow_forwarding
}

node_network() {
  ip addr replace "${NODE_ADDRESS[$1]}/24" dev "$HOST_BRIDGE"
  ip_bridge "$(node_bridge "$1")" "${NODE_PODS[$1]}.1/24"
}

ip_bridge() {
  ip link show "$1" >/dev/null 2>&1 || ip link add "$1" type bridge
  # The alias is how clean-up knows that the interface was made here.
  ip link set dev "$1" alias "$LINK_ALIAS" up
  ip addr replace "$2" dev "$1"
}

check_addresses_free() {
  local network taken
  for network in "$HOST_NETWORK" "$POD_NETWORK" "$SERVICE_NETWORK"; do
    taken=$(ip -4 route show root "$network" | grep -v "dev sbench" | head -n 1 || true)
    [ -z "$taken" ] || die "this machine has a route inside $network, which the cluster uses ($taken); change the addresses in hack/cluster/lib/settings.sh"
  done
  taken=$(nft list tables 2>/dev/null | grep -w kube-proxy | head -n 1 || true)
  [ -z "$taken" ] || die "another Kubernetes runs on this machine (nftables has \"$taken\"); stop it, or use it with CLUSTER=current"
}

# What this cluster, its kubelets included, sets for the whole machine.
SYSCTLS=(net.ipv4.ip_forward net.bridge.bridge-nf-call-iptables
  vm.overcommit_memory vm.panic_on_oom kernel.panic kernel.panic_on_oops
  kernel.keys.root_maxkeys kernel.keys.root_maxbytes
  net.netfilter.nf_conntrack_max net.netfilter.nf_conntrack_tcp_be_liberal)

remember_sysctls() {
  local key
  [ ! -e "$STATE/sysctls" ] || return 0
  for key in "${SYSCTLS[@]}"; do
    [ ! -e "/proc/sys/${key//.//}" ] || printf '%s=%s\n' "$key" "$(sysctl -n "$key")"
  done >"$STATE/sysctls.new"
  mv "$STATE/sysctls.new" "$STATE/sysctls"
}

restore_sysctls() {
  local line
  [ -e "$STATE/sysctls" ] || return 0
  while read -r line; do
    sysctl -qw "$line" 2>/dev/null || say "        could not restore $line"
  done <"$STATE/sysctls"
}

# A host whose forward policy is drop (Docker sets it) needs to be told; an
# accept in a table of our own would not overrule it.
forward_rules() {
  local action=$1 network
  for network in -s -d; do
    iptables -w 10 "$action" FORWARD "$network" "$POD_NETWORK" -m comment --comment "$LINK_ALIAS" -j ACCEPT
  done
}

allow_forwarding() {
  if iptables -w 10 -S FORWARD 2>/dev/null | grep -q '^-P FORWARD DROP'; then
    forward_rules -C 2>/dev/null || forward_rules -I
  fi
}

our_forward_rules() { iptables-save -t filter 2>/dev/null | grep -c -- "--comment $LINK_ALIAS " || true; }

our_links() { ip -o link show 2>/dev/null | grep -F "alias $LINK_ALIAS" | sed -E 's/^[0-9]+: ([^:@]+).*/\1/' || true; }

# The tables of kube-proxy and of the portmap plugin. They were not there before
# if the file is, or a bridge of ours.
our_tables() {
  [ -e "$STATE/sysctls" ] || [ -n "$(our_links)" ] || return 0
  nft list tables 2>/dev/null | grep -E ' (kube-proxy|cni_hostport)$' | cut -d' ' -f2,3 || true
}

network_down() {
  local link port table
  while read -r table; do
    # shellcheck disable=SC2086  # family and name
    [ -z "$table" ] || nft delete table $table
  done <<<"$(our_tables)"
  for link in $(our_links); do
    for port in $(ip -o link show master "$link" | sed -E 's/^[0-9]+: ([^:@]+).*/\1/'); do
      ip link delete "$port" 2>/dev/null || true # it may go with its namespace meanwhile
    done
    ip link delete "$link"
  done
  if (($(our_forward_rules))); then forward_rules -D; fi
}
