package stats

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// MinVolumes is the fewest volumes that give an interval for their class. Student's t of two is
// 12.7: they are printed, not averaged.
const MinVolumes = 3

// VolumeEstimate is an estimate for the class that volumes were provisioned from.
type VolumeEstimate struct {
	// Interval of the geometric mean of volumes: N counts volumes, and Median is that mean.
	Interval
	// Trials of all volumes.
	Trials int
	// Within and Between are standard deviations of logarithms, 0.05 being about 5 %: of trials
	// of one volume, and of the volumes themselves. Between is 0 if the trials' own spread
	// explains the volumes'; Within is 0 if no volume has two trials.
	Within, Between float64
}

// VolumeInterval estimates what volumes of a class give, from the trials of each of them: the
// geometric mean, with Student's t on the volumes' means of logarithms. It holds whatever the
// trials of one volume have in common, as drift or autocorrelation, and assumes that volumes are
// log-normal. A bootstrap over few volumes covers too little: 80 % for four. Source: Kalibera and Jones,
// Rigorous Benchmarking in Reasonable Time, ISMM 2013, with the authors' correction of T.
// There is no interval below 3 volumes, or if a value is not positive.
func VolumeInterval(perVolume [][]float64) VolumeEstimate {
	var v VolumeEstimate
	var means []float64
	squares, perMean := 0.0, 0.0
	for _, trials := range perVolume {
		if len(trials) == 0 {
			continue
		}
		y, ok := logs(trials)
		if !ok {
			return VolumeEstimate{Interval: Interval{N: len(perVolume)}}
		}
		mean := stat.Mean(y, nil)
		for _, value := range y {
			squares += (value - mean) * (value - mean)
		}
		means = append(means, mean)
		v.Trials += len(y)
		perMean += 1 / float64(len(y))
	}
	if v.N = len(means); v.N == 0 {
		return v
	}
	v.Median = math.Exp(stat.Mean(means, nil))
	if free := v.Trials - v.N; free > 0 {
		v.Within = math.Sqrt(squares / float64(free))
	}
	if v.N < 2 {
		return v
	}
	top := stat.StdDev(means, nil)
	v.Between = math.Sqrt(max(0, top*top-v.Within*v.Within*perMean/float64(v.N)))
	if v.N < MinVolumes {
		return v
	}
	half := StudentT(v.N-1, 1-(1-Confidence)/2) * top / math.Sqrt(float64(v.N))
	v.Low, v.High, v.OK = v.Median*math.Exp(-half), v.Median*math.Exp(half), true
	return v
}

// StudentT is the quantile of Student's t with so many degrees of freedom.
func StudentT(free int, quantile float64) float64 { return studentT(float64(free), quantile) }

func studentT(free, quantile float64) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: free}.Quantile(quantile)
}

func studentCDF(free, t float64) float64 { return distuv.StudentsT{Sigma: 1, Nu: free}.CDF(t) }
