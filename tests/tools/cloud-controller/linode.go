package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

const (
	annotations  = "service.beta.kubernetes.io/linode-loadbalancer-"
	ipv6Ingress  = annotations + "enable-ipv6-ingress"
	hostnameOnly = annotations + "hostname-only-ingress"
)

// linode answers as Linode's cloud controller does, in the one thing that is of
// interest here: the shape of a load balancer's status. It has no state, since
// all of an answer follows from the Service.
type linode struct {
	// The service controller asks for load balancers alone. Whatever else a
	// provider can do is left nil, to fail loudly should that change.
	cloudprovider.Interface

	ipMode *v1.LoadBalancerIPMode // nil: leave it to the API server, as Linode does today
}

func (l *linode) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return l, true }

func (l *linode) GetLoadBalancerName(_ context.Context, _ string, service *v1.Service) string {
	return string(service.UID)
}

func (l *linode) GetLoadBalancer(_ context.Context, _ string, service *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
	status, err := l.status(service)
	return status, err == nil, err
}

func (l *linode) EnsureLoadBalancer(_ context.Context, _ string, service *v1.Service, _ []*v1.Node) (*v1.LoadBalancerStatus, error) {
	report("ensure", service)
	return l.status(service)
}

func (l *linode) UpdateLoadBalancer(_ context.Context, _ string, service *v1.Service, _ []*v1.Node) error {
	report("update", service)
	return nil
}

func (l *linode) EnsureLoadBalancerDeleted(_ context.Context, _ string, service *v1.Service) error {
	report("delete", service)
	return nil
}

func report(call string, service *v1.Service) {
	fmt.Printf("%s %s/%s\n", call, service.Namespace, service.Name)
}

// status is one entry for each address, all with the same hostname; or the
// hostname alone where an annotation asks for that.
func (l *linode) status(service *v1.Service) (*v1.LoadBalancerStatus, error) {
	ipv4, ipv6, err := addresses(service)
	if err != nil {
		return nil, err
	}
	hostname := strings.ReplaceAll(ipv4.String(), ".", "-") + ".ip.linodeusercontent.com"
	if annotated(service, hostnameOnly) {
		return &v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{Hostname: hostname}}}, nil
	}
	published := []netip.Addr{ipv4}
	if annotated(service, ipv6Ingress) {
		published = append(published, ipv6)
	}
	status := &v1.LoadBalancerStatus{}
	for _, address := range published {
		status.Ingress = append(status.Ingress, v1.LoadBalancerIngress{
			IP: address.String(), Hostname: hostname, IPMode: l.ipMode,
		})
	}
	return status, nil
}

// annotated is true only for what Go takes for true; anything else is false, as
// with Linode's controller.
func annotated(service *v1.Service, annotation string) bool {
	value, err := strconv.ParseBool(service.Annotations[annotation])
	return err == nil && value
}

// addresses takes the last 17 bits of the Service's cluster IP into ranges that
// are nobody's: 198.18.0.0/15 (for benchmarks) and 2001:db8::/32 (for
// documentation). The API server gives each cluster IP out once, so no two
// Services get the same; a hash into so small a range would soon collide. A test
// that needs to know an address beforehand sets spec.clusterIP.
func addresses(service *v1.Service) (ipv4, ipv6 netip.Addr, err error) {
	clusterIP, err := netip.ParseAddr(service.Spec.ClusterIP)
	if err != nil {
		return ipv4, ipv6, fmt.Errorf("cluster IP: %w", err)
	}
	wide := clusterIP.As16()
	low := binary.BigEndian.Uint32(wide[12:]) & (1<<17 - 1)

	four := [4]byte{198, 18}
	binary.BigEndian.PutUint32(four[:], binary.BigEndian.Uint32(four[:])|low)
	six := [16]byte{0x20, 0x01, 0x0d, 0xb8}
	binary.BigEndian.PutUint32(six[12:], low)
	return netip.AddrFrom4(four), netip.AddrFrom16(six), nil
}
