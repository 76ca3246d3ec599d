# Sourced by what talks to a cluster: sets KUBECONFIG for CLUSTER=local and puts
# the pinned kubectl and helm first on PATH. With CLUSTER=current, kubectl and helm
# of the PATH are used as they are.
# shellcheck shell=bash

case ${CLUSTER:=local} in
  local)
    KUBECONFIG=$PWD/.cluster/kubeconfig
    PATH=$(hack/cluster/cluster tools kubectl helm):$PATH
    export KUBECONFIG PATH
    ;;
  current)
    for program in kubectl helm; do
      command -v "$program" >/dev/null || {
        echo "CLUSTER=current needs $program on the PATH" >&2
        exit 1
      }
    done
    ;;
  *)
    echo "CLUSTER is \"$CLUSTER\": give local or current" >&2
    exit 1
    ;;
esac
