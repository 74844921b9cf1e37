// Command cloud-controller runs Kubernetes' own service controller, the part of
// every cloud controller that writes the status of Services, with a stand-in for
// the cloud behind it (linode.go).
//
// What undoes a patched ipMode is that controller: whenever it ensures a load
// balancer, it replaces the status with what the cloud answers. A test of what
// survives must therefore run the real one. It needs a Node that is ready.
//
// For each call that reaches the cloud, one line goes to stdout:
// "ensure NAMESPACE/NAME", "update ..." or "delete ...".
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	servicecontroller "k8s.io/cloud-provider/controllers/service"
	"k8s.io/component-base/featuregate"
	"k8s.io/component-base/metrics/prometheus/controllers"
	"k8s.io/controller-manager/pkg/features"
)

const workers = 5

func run(kubeconfig string, cloud *linode) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1 // no limit: tests wait for hundreds of Services
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	gates := featuregate.NewFeatureGate()
	if err := features.SetupCurrentKubernetesSpecificFeatureGates(gates); err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	controller, err := servicecontroller.New(
		cloud, client, factory.Core().V1().Services(), factory.Core().V1().Nodes(), "kubernetes", gates,
	)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	factory.Start(ctx.Done())
	controller.Run(ctx, workers, controllers.NewControllerManagerMetrics("cloud-controller"))
	return nil
}

func main() {
	cloud := &linode{}
	kubeconfig := flag.String("kubeconfig", "", "the cluster to serve")
	flag.Func("ip-mode", "ipMode to answer with, VIP or Proxy (default: none, as Linode)", func(value string) error {
		mode := v1.LoadBalancerIPMode(value)
		if mode != v1.LoadBalancerIPModeVIP && mode != v1.LoadBalancerIPModeProxy {
			return fmt.Errorf("must be VIP or Proxy")
		}
		cloud.ipMode = &mode
		return nil
	})
	flag.Parse()
	if err := run(*kubeconfig, cloud); err != nil {
		fmt.Fprintln(os.Stderr, "cloud-controller:", err)
		os.Exit(1)
	}
}
